// Checks the extension against the declarations of one version of Pi. check.mjs maps the package's name to the version.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent"
import magicctx from "../src/index.ts"
import { handlers } from "../src/extension.ts"

declare const pi: ExtensionAPI

magicctx(pi)

const on = handlers(pi)
pi.on("session_start", on.session_start)
pi.on("session_shutdown", on.session_shutdown)
pi.on("session_tree", on.session_tree)
pi.on("session_before_compact", on.session_before_compact)
pi.on("session_compact", on.session_compact)
pi.on("before_agent_start", on.before_agent_start)
pi.on("input", on.input)
pi.on("context", on.context)
pi.on("before_provider_request", on.before_provider_request)
pi.on("after_provider_response", on.after_provider_response)
pi.on("message_end", on.message_end)
pi.on("agent_end", on.agent_end)
pi.on("model_select", on.model_select)
