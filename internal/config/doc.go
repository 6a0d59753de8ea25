// Package config reads magicctx.jsonc, warns of mistakes in it, and changes keys in it. Load always returns a usable configuration:
// if it does not understand a value, it takes the default and returns a warning that names the file, the key,
// the value and the allowed values.
//
// There are two levels, and the project's level is merged over the user's: objects key by key, any
// other value as a whole. Each level consists of the first of these files that exists (.json works too,
// and comes after .jsonc):
//
//	user      <harness>/magicctx.jsonc
//	          <config>/magicctx/magicctx.jsonc
//	          <harness>/magic-context.jsonc
//	project   <dir>/magicctx.jsonc
//	          <dir>/.opencode/magicctx.jsonc       (.pi under Pi)
//	          <dir>/magic-context.jsonc
//	          <dir>/.opencode/magic-context.jsonc
//
// <config> is $XDG_CONFIG_HOME, else ~/.config. For OpenCode, <harness> is $OPENCODE_CONFIG_DIR, then
// <config>/opencode. For Pi, it is $PI_CODING_AGENT_DIR, then ~/.pi/agent. The magic-context files belong to
// the original plugin, which is written in TypeScript. They keep working, including keys that the original
// plugin has renamed since.
//
// Strings in the user's file may hold {env:NAME} and {file:PATH}. A project is untrusted, because
// cloning a repository must not give it the user's secrets or control of the user's agents: see
// restrict.
//
// The tags of schema.Config hold the rules for values. The host, the JSON Schema and the documentation all take
// the rules from there.
//
// It may import internal/json, internal/jsonc, internal/regular, internal/secret and
// schema.
package config
