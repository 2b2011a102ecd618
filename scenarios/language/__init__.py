"""The script language: YAML read into nodes with places, and from them scenarios, clusters, acts and conditions.

`script` loads a file, `cluster` reads and writes the cluster part, `acts` builds acts, `conditions` the small language of
`until` and `expect`. Scripts are data: nothing in them is ever evaluated as code.
"""
