package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/e2e/mockllm"
	"github.com/magicctx/magicctx-host/e2e/suite"
	"github.com/magicctx/magicctx-host/internal/json"
)

// If the configuration contains only the package's name, OpenCode installs the package without install scripts. The
// package must work without them.
func TestOpenCodeInstallsPackedPlugin(t *testing.T) {
	suite.Needs(t)
	t.Parallel()
	w := newWorld(t, suite.Root(t), map[string]string{"notes.txt": "the answer is 41\n"})
	registry := w.registry(w.installPacked())
	o := w.bare()
	o.Plugins = []any{"@magicctx/opencode"}
	o.Env = append(o.Env, "npm_config_registry="+registry)
	oc := w.start(o)
	session := w.session(oc)
	w.play(session, mockllm.Say("Hello."))
	w.prompt(oc, session, "Hello?")
	requests := w.requests(session)
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	checkRequest(t, requests[0])
	w.wantInBody(requests[0], "§1§ Hello?", true)
}

// The registry contains the packages for this platform. Their manifests come from the directory of the installed
// packages.
func (w *world) registry(p *packing) string {
	w.t.Helper()
	manifests, err := filepath.Glob(filepath.Join(p.installed, "node_modules", "@magicctx", "*", "package.json"))
	if err != nil || len(manifests) != 3 { // the host, and the packages of both harnesses
		w.t.Fatalf("installed manifests: %q, %v", manifests, err)
	}
	packuments := map[string][]byte{} // the packuments by path
	tarballs := http.FileServer(http.Dir(p.tarballs))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		// A ServeMux would treat npm's @scope%2fname as one segment.
		if packument, ok := packuments[r.URL.Path]; ok {
			_, _ = rw.Write(packument)
			return
		}
		tarballs.ServeHTTP(rw, r)
	}))
	address := "http://" + server.Listener.Addr().String()
	w.t.Cleanup(server.Close)
	for _, path := range manifests {
		raw, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		var manifest map[string]any
		if err := json.Unmarshal(raw, &manifest); err != nil {
			w.t.Fatal(err)
		}
		name, version := manifest["name"].(string), manifest["version"].(string)
		file := strings.NewReplacer("@", "", "/", "-").Replace(name) + "-" + version + ".tgz"
		manifest["dist"] = map[string]any{"tarball": address + "/" + file}
		packuments["/"+name], err = json.Marshal(map[string]any{
			"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: manifest},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	server.Start()
	return address
}
