"""The script language: parses YAML into nodes that record their places in the file, and builds scenarios, clusters, acts, and conditions
from the nodes.

`script` loads a file. `cluster` reads and writes clusters. `acts` builds acts. `conditions` defines the language of the conditions in
`until` and `expect`. A script is data: nothing in it is evaluated as code.
"""
