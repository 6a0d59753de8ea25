import { message } from "../../opencode-shim/gen/v1.ts"
import { step as step2 } from "../../opencode-shim/gen/v2.ts"
import { step } from "../../pi-shim/gen/message.ts"
import { generate } from "./generate.ts"
import { sample } from "./sample.ts"

/** The generated files of the shims. The key is the path within adapters/. */
export const files: Record<string, string> = {
  "opencode-shim/src/v1/generated/message.ts": generate("message", message, {
    declaration: "adapters/opencode-shim/gen/v1.ts",
    runtime: "@magicctx/shim-core",
  }),
  "opencode-shim/src/v2/generated/step.ts": generate("step", step2, {
    declaration: "adapters/opencode-shim/gen/v2.ts",
    runtime: "@magicctx/shim-core",
  }),
  "pi-shim/src/generated/step.ts": generate("step", step, {
    declaration: "adapters/pi-shim/gen/message.ts",
    runtime: "@magicctx/shim-core",
  }),
  "shim-core/test/generated/sample.ts": generate("sample", sample, {
    declaration: "adapters/shim-core/gen/sample.ts",
    runtime: "../../src/index.ts",
  }),
}
