// Package install puts the shim into a harness's configuration and takes it out again.
//
// The configuration file belongs to its author. Comments, order and indentation stay, an inserted line
// follows the style of its neighbours, and removing it restores the former bytes. Every change is
// planned first, so that it can be shown. Applying the plan fails if somebody has edited the file in
// between. Two files lie beside an edited file:
//
//	<file>.magicctx-backup        the file as it would be without us
//	<file>.magicctx-backup.json   our changes, and a hash of the result
//
// OpenCode edits its configuration by itself (it adds "$schema"), so at removal the hash often does not
// match. In that case only our changes are undone.
//
// It may import schema, internal/config and internal/json.
package install
