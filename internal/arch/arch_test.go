package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/magicctx/magicctx-host"

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Dir        string
	GoFiles    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	all, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(all)
}

var packages = sync.OnceValues(func() (all []pkg, err error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,Dir,GoFiles", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

var never = []struct {
	from, what, why string
}{
	{"pipeline", "database/sql net net/http os/exec log/slog", "the pass does no I/O"},
	{"pipeline", "math/rand math/rand/v2 crypto/rand", "two runs of a pass give the same wire"},
	{"store", "net/http os/exec", "the store is a file"},
	{"internal/host", module + "/rpc", "nothing below rpc knows how its caller speaks"},
	{"internal/host", module + "/internal/replay", "replay drives the host, not the other way round"},
	{"internal/host", "github.com/sourcegraph/jsonrpc2", "nothing below rpc knows JSON-RPC"},
	{"cmd/magicctx-host", "github.com/invopop/jsonschema", "the schemas are generated and embedded, not made at run time"},
	{"cmd/magicctx-host", "github.com/google/go-cmp/cmp pgregory.net/rapid go.uber.org/goleak", "test libraries stay out of the binary"},
	{"cmd/magicctx-host", module + "/e2e", "test equipment stays out of the binary"},
}

var direct = []struct {
	from, what, why string
}{
	{"pipeline", "os io/fs io/ioutil", "the pass does no I/O (fmt alone depends on os)"},
	{"rpc", module + "/pipeline " + module + "/store " + module + "/agents " + module + "/internal/host", "rpc knows its clients, and calls the host through an interface"},
	{"rpc/daemon", module + "/internal/host", "the processes carry the conversation and do not take part in it"},
	{"rpc/daemon", "github.com/sourcegraph/jsonrpc2", "the processes carry the conversation and do not take part in it"},
	{"cmd/magicctx-host", module + "/pipeline", "the command line wires; it decides nothing"},
	{"internal/view", module + "/store " + module + "/rpc " + module + "/internal/host", "a view gets its data and fetches nothing"},
	{"internal/view", "os net os/exec", "a view returns text and leaves it to the command line where that goes"},
}

// `rooms` lists the packages that make up the host: the imports in internal/host/doc.go, and packages that only these
// imports use. None of them may import internal/host.
var rooms = func() string {
	doc, err := os.ReadFile("../host/doc.go")
	if err != nil {
		panic(err)
	}
	const others = "internal/background internal/client internal/clock internal/config internal/json internal/project internal/rawhistory"
	found := regexp.MustCompile(`internal/\w+`).FindAllString(string(doc), -1)
	return strings.Join(slices.DeleteFunc(found, func(p string) bool { return named(p, others) }), " ") + " internal/keyfiles internal/search"
}()

var importers = []struct {
	of, by, why string
}{
	{"github.com/go-json-experiment/json", "internal/json", "JavaScript's strings and numbers survive only with its options"},
	{"encoding/json", "rpc", "jsonrpc2 forces its RawMessage on us"},
	{"github.com/sourcegraph/jsonrpc2", "rpc", "nothing below rpc knows JSON-RPC"},
	{"github.com/invopop/jsonschema", "schema/gen", "schemas are generated"},
	{"github.com/ncruces/go-sqlite3", "store internal/rawhistory/rawhistorytest", "SQL lives in the store; tests lay out OpenCode's database"},
	{"database/sql", "store", "SQL lives in the store"},
	{"net/http", "internal/embedding cmd/magicctx-host/dashboard e2e", "the host talks to no provider itself, only through the harness; a service for vectors is an exception, and the dashboard only serves"},
	{"github.com/tailscale/hujson", "internal/install internal/jsonc", "only files that people edit have comments in their JSON"},
	{"github.com/alecthomas/kong", "cmd/magicctx-host", "the command line is the outermost layer"},
	{"github.com/lmittmann/tint", "cmd/magicctx-host", "the logger is passed in"},
	{module + "/cmd", "cmd/magicctx-host", "the command is imported by nothing else"},
	{module + "/e2e", "e2e", "the end-to-end tests are imported by nothing"},
	{module + "/rpc", "cmd/magicctx-host internal/doctor internal/replay", "the host does not know its caller"},
	{module + "/internal/view", "cmd/magicctx-host", "a view is drawn on request: nothing below the command line prints"},
	{module + "/rpc/daemon", "cmd/magicctx-host internal/doctor", "the conversation does not know which processes hold it"},
	{module + "/internal/host", "cmd/magicctx-host internal/replay", "use cases are called from above only"},
	{module + "/store", rooms + " internal/host cmd/magicctx-host internal/doctor internal/replay internal/importing internal/rawhistory internal/wirediff internal/marker", "only the host, its rooms and an import commit to our store; doctor, rawhistory and wirediff only look, and marker writes to OpenCode's"},
	{module + "/store/database", "store", "a transaction belongs to the package that knows its rows"},
	{module + "/store/file", "store cmd/magicctx-host internal/doctor", "the host sees rows, not the file that holds them"},
	{module + "/internal/arch", "", "it holds no code"},
}

func TestArrowsPointDown(t *testing.T) {
	all := list(t)
	for _, complaint := range complaints(all, imports(t, all)) {
		t.Error(complaint)
	}
}

func complaints(all []pkg, allowed map[string][]string) []string {
	var found []string
	complain := func(p pkg, what, why string) {
		found = append(found, fmt.Sprintf("%s must not reach %s: %s", p.ImportPath, what, why))
	}
	for _, p := range all {
		for _, d := range p.Imports {
			if within(d, module) && !slices.ContainsFunc(allowed[p.ImportPath], func(a string) bool { return within(d, a) }) {
				complain(p, d, "its doc.go does not name it")
			}
		}
		for _, r := range never {
			for _, d := range p.Deps {
				if within(p.ImportPath, local(r.from)) && named(d, r.what) {
					complain(p, d, r.why)
				}
			}
		}
		for _, r := range direct {
			for _, d := range p.Imports {
				if within(p.ImportPath, local(r.from)) && slices.ContainsFunc(strings.Fields(r.what), func(w string) bool { return within(d, w) }) {
					complain(p, d, r.why)
				}
			}
		}
		for _, r := range importers {
			for _, d := range p.Imports {
				if within(d, r.of) && !within(p.ImportPath, r.of) && !slices.ContainsFunc(locals(r.by), func(by string) bool { return within(p.ImportPath, by) }) {
					complain(p, d, r.why)
				}
			}
		}
	}
	return found
}

// The function `named` reports whether `names` lists the package `path`, or a package of a module above it. A package
// of the standard library stands only for itself: `net` does not include net/url.
func named(path, names string) bool {
	return slices.ContainsFunc(strings.Fields(names), func(n string) bool {
		return path == n || strings.Contains(n, ".") && within(path, n)
	})
}

func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }
func local(path string) string      { return module + "/" + path }

func locals(paths string) []string {
	var all []string
	for _, p := range strings.Fields(paths) {
		all = append(all, local(p))
	}
	return all
}

func TestWrongArrowsAreFound(t *testing.T) {
	allowed := imports(t, list(t))
	for _, c := range []struct{ from, to string }{
		{"pipeline", local("store")},
		{"pipeline/rule", local("pipeline/render")},
		{"pipeline/frozen", local("schema")},
		{"pipeline", "net/http"},
		{"pipeline/transcript", "os"},
		{"pipeline/render", "github.com/go-json-experiment/json/jsontext"},
		{"store", local("pipeline/frozen")},
		{"store/file", local("store")},
		{"internal/host", local("store/file")},
		{"agents/historian", local("store")},
		{"internal/host", local("rpc")},
		{"internal/host", "github.com/sourcegraph/jsonrpc2"},
		{"rpc", local("store")},
		{"rpc", local("internal/host")},
		{"internal/client", local("store")},
		{"rpc", local("rpc/daemon")},
		{"rpc/daemon", local("internal/host")},
		{"internal/replay", local("rpc/daemon")},
		{"schema", local("pipeline")},
		{"internal/host", "encoding/json"},
		{"internal/config", local("cmd/magicctx-host")},
		{"internal/format", local("schema")},
		{"internal/view", local("store")},
		{"internal/view/page", "os"},
		{"internal/replay", local("internal/view/report")},
		{"internal/host", local("internal/view")},
		{"cmd/magicctx-host", "github.com/invopop/jsonschema"},
	} {
		p := pkg{ImportPath: local(c.from), Imports: []string{c.to}, Deps: []string{c.to}}
		if len(complaints([]pkg{p}, allowed)) == 0 {
			t.Errorf("nothing keeps %s from importing %s", c.from, c.to)
		}
	}
}

// If a package is renamed, its row in importers must be renamed, too. Otherwise, the row would check nothing.
func TestRowsNamePackagesThatExist(t *testing.T) {
	all := list(t)
	for _, r := range importers {
		for _, by := range strings.Fields(r.by) {
			if !slices.ContainsFunc(all, func(p pkg) bool {
				return within(p.ImportPath, local(by)) && slices.ContainsFunc(p.Imports, func(i string) bool { return within(i, r.of) })
			}) {
				t.Errorf("%s no longer imports %s: take the row away", by, r.of)
			}
		}
	}
}
