package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/regular"
)

// pluginFile examines the plugin's file, and checks whether the plugin finds its host. hasHost is false if x.shim has
// already reported that the shim in the data directory finds no host. In this case, pluginFile does not report the same
// problem a second time.
func (x *examination) pluginFile(ctx context.Context, h Harness, hasHost bool) {
	if h.PluginFile == nil {
		return
	}
	path, err := h.PluginFile(ctx)
	switch {
	case err != nil:
		x.fail("correct the file; the harness cannot read it either", "%v", err)
		return
	case path == "": // the plugin is an npm package, which the harness keeps in its own cache
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		x.fail(x.reinstall(h), "the plugin is gone: %v", err)
		return
	}
	if x.hasForeignPlugin(ctx, h) { // nobody knows which host a foreign file starts
		return
	}
	if x.Env(NamedBy) != "" { // then a plugin tries no other program; see named
		return
	}
	dir := path
	if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if isOwn, err := filepath.Rel(x.DataDir, dir); !hasHost && err == nil && filepath.IsLocal(isOwn) {
		return
	}
	host, tried := x.hostBeside(dir)
	if host == "" {
		x.fail(x.reinstall(h)+`, or put magicctx-host on the PATH`, "the plugin in %s finds no host; it looks at %s, and on the PATH", dir, strings.Join(tried, ", "))
		return
	}
	x.ok("the plugin of %s starts %s", h.Name, host)
}

func (x *examination) hasForeignPlugin(ctx context.Context, h Harness) bool {
	if h.ForeignPlugin == nil {
		return false
	}
	file, err := h.ForeignPlugin(ctx)
	switch {
	case err != nil:
		x.warn("look at it; the harness runs it", "%v", err)
		return true
	case file != "":
		x.warn(fmt.Sprintf("look at the file. If it is not yours, remove it and its entry; %s installs ours", x.install(h)),
			"%s runs %s, which is not the plugin of this version: another version or somebody else wrote it", h.Name, file)
		return true
	}
	return false
}

// hostBeside returns the program that the plugin in the directory `dir` starts, or "". It also returns all places in
// which it has searched (`tried`). locateHost in adapters/shim-core/src/locate.ts searches the same places.
func (x *examination) hostBeside(dir string) (host string, tried []string) {
	for _, candidate := range []string{
		recordedHost(filepath.Join(dir, "host.json")),
		packagedHost(dir),
		filepath.Join(dir, "..", "bin", hostName()),
	} {
		if candidate == "" {
			continue
		}
		if isProgram(candidate) {
			return candidate, tried
		}
		tried = append(tried, candidate)
	}
	if found, err := x.LookPath("magicctx-host"); err == nil {
		return found, tried
	}
	return "", tried
}

const maxRecordBytes = 64 << 10

func recordedHost(file string) string {
	content, err := regular.Read(file, maxRecordBytes)
	var record struct {
		Host string `json:"host"`
	}
	if err != nil || json.Unmarshal(content, &record) != nil || !filepath.IsAbs(record.Host) {
		return ""
	}
	return record.Host
}

// packagedHost looks for the npm package for this platform in the same places as Node.
func packagedHost(dir string) string {
	system, processor := runtime.GOOS, runtime.GOARCH
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	name := filepath.Join("node_modules", "@magicctx", "host-"+system+"-"+processor)
	for {
		if _, err := os.Stat(filepath.Join(dir, name, "package.json")); err == nil {
			return filepath.Join(dir, name, "bin", hostName())
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

func hostName() string {
	if runtime.GOOS == "windows" {
		return "magicctx-host.exe"
	}
	return "magicctx-host"
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}
