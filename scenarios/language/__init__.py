"""The script language: reads YAML into nodes with their places in the file, and those into scenarios, clusters, acts and conditions.

`script` loads a file, `cluster` reads and writes the cluster part, `acts` builds acts, `conditions` contains the small language of
`until` and `expect`. A script is data: nothing in it is evaluated as code.
"""
