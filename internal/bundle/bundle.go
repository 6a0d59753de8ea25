package bundle

import _ "embed"

//go:embed opencode-shim.js
var OpenCode []byte

//go:embed opencode-tui.js
var OpenCodeTerminal []byte

// OpenCodeProject loads OpenCode from the data directory of the user who runs it. A team can commit this small module
// with its project.
//
//go:embed opencode-project.js
var OpenCodeProject []byte

// OpenCodeProjectTerminal loads OpenCodeTerminal from the data directory of the user who runs it.
//
//go:embed opencode-project-tui.js
var OpenCodeProjectTerminal []byte

//go:embed pi-shim.js
var Pi []byte

// PiProject loads Pi from the data directory of the user who runs it. A team can commit this small module with its
// project.
//
//go:embed pi-project.js
var PiProject []byte
