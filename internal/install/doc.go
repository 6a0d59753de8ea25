// Package install puts the shim into a harness's configuration and takes it out again.
//
// The configuration file belongs to its author. Comments, order and indentation stay, an inserted line
// follows the style of its neighbours, and removing it restores the former bytes. Every change is
// planned first, so that it can be shown. Applying the plan fails if somebody has edited the file in
// between. Two files in the user's data directory belong to an edited file:
//
//	installed/<hash of its path>.backup   the file as it would be without us
//	installed/<hash of its path>.json     our changes, and hashes of the result and the backup
//
// They do not lie beside the edited file, because a repository could ship them there. A project's file
// is edited only if it lies in the project without any link that leads out of it.
//
// OpenCode edits its configuration by itself (it adds "$schema"), so at removal the hash often does not
// match. In that case only our changes are undone.
//
// It may import schema, internal/config, internal/format and internal/json.
package install
