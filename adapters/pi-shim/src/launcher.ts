#!/usr/bin/env node
import { launchPackagedHost } from "@magicctx/shim-core"

launchPackagedHost(import.meta.url, "@magicctx/pi", "pi")
