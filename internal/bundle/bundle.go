package bundle

import _ "embed"

// OpenCode is the plugin for OpenCode, one JavaScript module without
// dependencies.
//
//go:embed opencode-shim.js
var OpenCode []byte

// OpenCodeTerminal is the part of the plugin that runs in OpenCode's terminal interface.
//
//go:embed opencode-tui.js
var OpenCodeTerminal []byte

// OpenCodeProject is a small module that loads OpenCode from the data directory
// of the user who runs it. It can be committed with a project.
//
//go:embed opencode-project.js
var OpenCodeProject []byte

// OpenCodeProjectTerminal is a small module that loads OpenCodeTerminal from the data directory of the user who runs
// it.
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
