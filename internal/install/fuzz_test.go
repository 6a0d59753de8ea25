package install

import (
	"testing"

	"github.com/magicctx/magicctx-host/internal/jsonc"
)

// If Install changes a file, a second installation changes nothing, and Uninstall restores the file.
func FuzzInstall(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "\ufeff{\r\n\t\"a\":1,//x\r\n}", `{"plugin":[["a",{}],],"compaction":{"auto":true/**/}}`, "{}//", "{/*a\nb*/}",
		`{"plugin":["/opt/shim/index.js",[],1],"compaction":{ }}`, `{"plugin":[],"plugin":["x"]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		d, err := jsonc.ParseDocument("opencode.jsonc", content)
		if err != nil {
			return
		}
		original, err := configuration{d, openCode}.former(shim)
		if err != nil {
			return
		}
		if err := (configuration{d, openCode}).enable(shim, "", never); err != nil {
			t.Fatal(err)
		}
		installed := d.Bytes()
		d, err = jsonc.ParseDocument("opencode.jsonc", installed)
		if err != nil {
			t.Fatalf("%q became %q: %v", content, installed, err)
		}
		if err := (configuration{d, openCode}).enable(shim, "", never); err != nil || string(d.Bytes()) != string(installed) {
			t.Fatalf("%q changes again to %q (%v)", installed, d.Bytes(), err)
		}
		if err := (configuration{d, openCode}).disable(shim, original); err != nil {
			t.Fatal(err)
		}
		removed := d.Bytes()
		if d, err = jsonc.ParseDocument("opencode.jsonc", removed); err != nil {
			t.Fatalf("%q became %q: %v", installed, removed, err)
		}
		plugins, err := configuration{d, openCode}.plugins()
		if err != nil {
			t.Fatal(err)
		}
		if plugins != nil && original.Entry == "" && openCode.ownEntry(d.File, plugins, shim) >= 0 {
			t.Fatalf("%q still lists the plugin in %q", installed, removed)
		}
	})
}
