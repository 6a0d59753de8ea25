package bundle

import _ "embed"

//go:embed opencode-shim.js
var OpenCode []byte

//go:embed opencode-tui.js
var OpenCodeTerminal []byte

// OpenCodeProject is a small module that a team can commit with its project. For each user, it loads the installed
// plugin (OpenCode) from the user's own data directory.
//
//go:embed opencode-project.js
var OpenCodeProject []byte

// OpenCodeProjectTerminal is a small module that loads the installed plugin OpenCodeTerminal.
//
//go:embed opencode-project-tui.js
var OpenCodeProjectTerminal []byte

//go:embed pi-shim.js
var Pi []byte

// PiProject is a small module that a team can commit with its project. For each user, it loads the installed plugin
// (Pi) from the user's own data directory.
//
//go:embed pi-project.js
var PiProject []byte
