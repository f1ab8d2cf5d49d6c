"""What servers answer, made fit for a session.

result_repair        results that some clients would refuse
oversized_results    results of tools that are too large: saved to a file, and cut
oversized_content    the same for resources, prompts and completions
resource_links       which server linked to which resource
"""
