// Package config reads magicctx.jsonc. Load always returns a usable
// configuration: what it does not understand falls back to the default, with a
// warning that names file, key, value and what is allowed.
//
// There are two levels, and the project's is merged over the user's: objects
// key by key, anything else as a whole. Each level is the first of these files
// that exists (.json stands for .jsonc too, after it):
//
//	user      <harness>/magicctx.jsonc
//	          <config>/magicctx/magicctx.jsonc
//	          <harness>/magic-context.jsonc
//	project   <dir>/magicctx.jsonc
//	          <dir>/.opencode/magicctx.jsonc       (.pi under Pi)
//	          <dir>/magic-context.jsonc
//	          <dir>/.opencode/magic-context.jsonc
//
// <config> is $XDG_CONFIG_HOME, else ~/.config. <harness> is, for OpenCode,
// $OPENCODE_CONFIG_DIR, then <config>/opencode; for Pi, $PI_CODING_AGENT_DIR,
// then ~/.pi/agent. The magic-context names are those of the TypeScript plugin:
// its files keep working, with the keys that it has renamed since.
//
// Strings in the user's file may hold {env:NAME} and {file:PATH}. A project is
// untrusted, because cloning a repository must not hand it the user's
// secrets or agents: see restrict.
//
// The rules for values are the tags of schema.Config, once for the host, the
// JSON Schema and the documentation.
//
// It may import schema and internal/json.
package config
