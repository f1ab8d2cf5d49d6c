"""Everything an agent can call: one catalog, one way to call it, whatever executes it.

tool_spec, catalog      what is known of a tool, and all tools by any of their names
dispatch                the one way to call a tool: enabled? valid? allowed? then it runs under its deadline
caller, outcome         who calls, and the result of a call, as text and as structure
arguments, json_schema  arguments as agents send them, and the schemas they are checked against
exposed_tool            a tool as one session sees it
tool_search             finds tools that do not fit into a session's list
hints, host_remarks     hints and remarks that name only tools that the reader has

work/                   tools that read and change the work: typed functions of a transaction
bn_tools                `bn_run` and the tools of an agent's life
script_tools            tools made from scripts
upstream_tools, permitted_content
                        tools, resources and prompts of other servers

agent_identity, planned_session, client_facts
                        which agent and which planned session a caller is
policy, denials, command_rights
                        what no session may change, and what can be denied
activity, recent_tools  what a session has done, and which upstream tools were used lately
"""
