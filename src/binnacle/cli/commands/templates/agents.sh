#!/usr/bin/env bash
# Starts a coding agent in this repository with a prompt from Binnacle, registered and ready to say goodbye.
# Written by `bn system emit agents.sh`; `./agents.sh --help` says how to use it.

set -euo pipefail

# Name of the MCP server in the client's configuration.
SERVER="binnacle"

# Agents with a shell begin and end there: a process can be ended by its own children, not by an MCP server beside it.
BLOCKED_MCP_TOOLS="binnacle-orient binnacle-goodbye"

fail() { # message, hint, exit code
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit "$3"
}

note() { printf 'note: %s\n' "$1" >&2; }

usage() {
    cat <<'END'
Starts a coding agent in this repository with a prompt from Binnacle.

  ./agents.sh CLIENT [ROLE] [--print] [-- ARGUMENT...]

  CLIENT     claude, copilot, opencode, codex, gemini or goose
  ROLE       worker (the default), planner, reviewer or buddy
  --print    show the command instead of running it
  ARGUMENT   handed to the client as it is
END
}

# The blocked tools one after the other, each put into a pattern and separated: `joined 'a%sb' ', '`.
joined() {
    local result="" tool item
    for tool in $BLOCKED_MCP_TOOLS; do
        # shellcheck disable=SC2059 # the pattern is the point
        printf -v item "$1" "$tool"
        result+="${result:+$2}$item"
    done
    printf '%s' "$result"
}

client="" role="" print=""
while (($#)); do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --print) print=yes ;;
        --) shift; break ;;
        -*) fail "unknown option '$1'" "what is for the client comes after --; see: $0 --help" 2 ;;
        *)
            if [[ -z $client ]]; then client=$1
            elif [[ -z $role ]]; then role=$1
            else fail "one word too many: '$1'" "what is for the client comes after --; see: $0 --help" 2
            fi ;;
    esac
    shift
done
role=${role:-worker}

case $client in
    claude) package="npm install -g @anthropic-ai/claude-code" ;;
    copilot) package="npm install -g @github/copilot" ;;
    opencode) package="npm install -g opencode-ai" ;;
    codex) package="npm install -g @openai/codex" ;;
    gemini) package="npm install -g @google/gemini-cli" ;;
    goose) package="see https://block.github.io/goose" ;;
    "") usage >&2; exit 2 ;;
    *) fail "unknown client '$client'" "one of: claude, copilot, opencode, codex, gemini, goose" 2 ;;
esac
case $role in
    worker | planner | reviewer | buddy) ;;
    *) fail "unknown role '$role'" "one of: worker, planner, reviewer, buddy" 2 ;;
esac
command -v bn >/dev/null || fail "bn is not installed" "install Binnacle and put bn on the PATH" 127
if [[ -z $print ]] && ! command -v "$client" >/dev/null; then
    fail "$client is not installed" "$package" 127
fi

prompt=$(bn system emit "$role")
policy=""

case $client in
    claude)
        # The prompt first: the option takes every word that follows it.
        run=(claude "$prompt" "--disallowedTools=$(joined "mcp__${SERVER}__%s" ,)") ;;
    copilot)
        run=(copilot -i "$prompt")
        for tool in $BLOCKED_MCP_TOOLS; do run+=("--deny-tool=$SERVER($tool)"); done ;;
    opencode)
        [[ -z ${OPENCODE_CONFIG_CONTENT:-} ]] || note "OPENCODE_CONFIG_CONTENT was set and is not used"
        run=(env "OPENCODE_CONFIG_CONTENT={\"permission\":{$(joined "\"${SERVER}_%s\":\"deny\"" ,)}}"
            opencode --prompt "$prompt") ;;
    codex)
        run=(codex)
        # Naming a server that is not configured would keep codex from starting; then there is nothing to block either.
        if ! command -v codex >/dev/null || codex mcp get "$SERVER" >/dev/null 2>&1; then
            run+=(-c "mcp_servers.$SERVER.disabled_tools=[$(joined '"%s"' ,)]")
        else
            note "codex has no MCP server called '$SERVER'"
        fi
        run+=("$prompt") ;;
    gemini)
        policy=${XDG_CACHE_HOME:-$HOME/.cache}/binnacle/gemini-policy.toml
        # Without this gemini starts itself a second time, and a goodbye would end only the first.
        run=(env GEMINI_CLI_NO_RELAUNCH=true gemini --policy "$policy" -i "$prompt") ;;
    goose)
        note "goose has no flag that blocks single tools; goose configure can set them to 'Never Allow':"
        note "$(joined "${SERVER}__%s" ", ")"
        run=(goose run -s -t "$prompt") ;;
esac
run+=("$@")

if [[ -n $print ]]; then
    for word in "${run[@]}"; do
        if [[ $word == "$prompt" ]]; then printf '"%s(bn system emit %s)" ' '$' "$role"; else printf '%q ' "$word"; fi
    done
    printf '\n'
    exit 0
fi

if [[ -n $policy ]]; then
    mkdir -p "$(dirname "$policy")"
    printf '[[rule]]\nmcpName = "%s"\ntoolName = [%s]\ndecision = "deny"\npriority = 999\n' \
        "$SERVER" "$(joined '"%s"' ', ')" >"$policy"
fi

# `bn orient` registers the shell it is run in and the process above that. Here these are a shell of its own and this
# very process, which becomes the client: what the client runs then acts as this agent, and goodbye ends the client.
unset BN_AGENT_ID BN_MCP_SESSION
answer=$(bash -c 'bn orient --json --name "$1" --type "$2"; exit' bash "${BN_AGENT_NAME:-$client-$$}" "$role")
agent_id=${answer#*\"agent_id\":\"}
export BN_AGENT_ID=${agent_id%%\"*}

exec "${run[@]}"
