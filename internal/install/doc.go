// Package install adds the shim to a harness's configuration, and removes it again.
//
// The configuration file belongs to its author. Comments, order and indentation stay, and a removal restores the former
// bytes. The user sees each planned change first; if somebody edits the file after that, applying the plan fails. For
// each file that it edits, the package keeps two files in the user's data directory:
//
//	installed/<hash of its path>.backup   the file as it would be without us
//	installed/<hash of its path>.json     our changes, and hashes of the result and the backup
//
// They are not in the project, because a repository could contain forged ones. The package edits a
// project's file only if no link on its path leads out of the project.
//
// A removal restores the backup if the file still has the hash of the result. OpenCode also edits its configuration (it
// adds "$schema"), so the hash often differs. In that case, the removal undoes only our changes.
//
// It may import internal/config, internal/format, internal/install/template, internal/json, internal/jsonc,
// internal/program, internal/regular and schema.
package install
