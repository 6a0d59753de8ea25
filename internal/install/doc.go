// Package install puts the shim into a harness's configuration and takes it
// out again.
//
// The file belongs to its author: comments, order and indentation stay, what
// is inserted looks like what is there, and removing gives the former bytes
// back. Every change is planned first, so that it can be shown, and then
// applied, unless somebody has edited the file in between. Beside an edited
// file lie
//
//	<file>.magicctx-backup        the file as it would be without us
//	<file>.magicctx-backup.json   what we changed, and a hash of the result
//
// OpenCode edits its configuration by itself (it adds "$schema"), so the hash
// often does not match at removal. Then only our changes are undone.
//
// It may import schema, internal/config and internal/json.
package install
