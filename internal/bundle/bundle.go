package bundle

import _ "embed"

// OpenCode is the plugin for OpenCode, one JavaScript module without
// dependencies.
//
//go:embed opencode-shim.js
var OpenCode []byte

// OpenCodeTerminal is the plugin's half for the terminals of OpenCode.
//
//go:embed opencode-tui.js
var OpenCodeTerminal []byte

// OpenCodeProject is a small module that loads OpenCode from the data directory
// of the user who runs it. It can be committed with a project.
//
//go:embed opencode-project.js
var OpenCodeProject []byte

// OpenCodeProjectTerminal loads OpenCodeTerminal, as OpenCodeProject loads OpenCode.
//
//go:embed opencode-project-tui.js
var OpenCodeProjectTerminal []byte

// Pi is the extension for Pi, one JavaScript module without dependencies.
//
//go:embed pi-shim.js
var Pi []byte

// PiProject is a small module that loads Pi from the data directory of the user who runs it. It can be
// committed with a project.
//
//go:embed pi-project.js
var PiProject []byte
