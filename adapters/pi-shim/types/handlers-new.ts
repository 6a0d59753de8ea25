// Checks the handlers of the events that 0.74 does not have.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent"
import { handlers } from "../src/extension.ts"

declare const pi: ExtensionAPI

const on = handlers(pi)
pi.on("session_info_changed", on.session_info_changed)
pi.on("context_with_system", on.context_with_system)
pi.on("cache_warming_decision", on.cache_warming_decision)
pi.on("agent_settled", on.agent_settled)
