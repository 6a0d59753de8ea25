#!/usr/bin/env node
// The command `magicctx-host` of the npm package.
import { launchPackagedHost } from "@magicctx/shim-core"

launchPackagedHost(import.meta.url, "@magicctx/opencode", "opencode")
