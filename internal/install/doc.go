// Package install adds the shim to a harness's configuration, and removes it again.
//
// The configuration file belongs to its author. Comments, order and indentation stay, an inserted line follows
// the style of its neighbours, and removing it restores the former bytes. The package first plans every change,
// so that the user can see it. If somebody edits the file after that, applying the plan fails. Two files in the
// user's data directory belong to an edited file:
//
//	installed/<hash of its path>.backup   the file as it would be without us
//	installed/<hash of its path>.json     our changes, and hashes of the result and the backup
//
// They are not beside the edited file, because a repository could ship forged ones there. The package edits a
// project's file only if no link on its path leads out of the project.
//
// A removal restores the backup if the file still has the hash of the result. OpenCode also edits its
// configuration (it adds "$schema"), so the hash often does not match. Then the removal undoes only our changes.
//
// It may import internal/config, internal/format, internal/install/template, internal/json, internal/jsonc,
// internal/program, internal/regular and schema.
package install
