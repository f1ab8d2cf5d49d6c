"""What servers list, checked before anyone reads it: tools, prompts, resources and templates.

entry_checks       which entries are well formed (`schema_repair`, `output_schemas`)
screening          hidden text and endless text
pins               how tools described themselves when they were first seen
header_params      arguments that are repeated in HTTP headers
content_index      resources, templates and prompts of all servers, and which server has each
list_cache         what servers offered when they were last connected
missing_tools      why there is no tool of a name
"""
