"""The script language: reads YAML into nodes with their places in the file, and builds scenarios, clusters, acts, and conditions from them.

`script` loads a file. `cluster` reads and writes clusters. `acts` builds acts. `conditions` defines the small language of
`until` and `expect`. A script is data: nothing in it is evaluated as code.
"""
