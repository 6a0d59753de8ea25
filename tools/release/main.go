package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/magicctx/magicctx-host/tools/advisories"
)

type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

const (
	module  = "github.com/magicctx/magicctx-host"
	program = "magicctx-host"
)

func main() {
	here := flag.Bool("here", false, "only this platform")
	repository := flag.String("repository", "..", "the root of the repository")
	out := flag.String("out", "", "the directory of the archives; dist/release of the repository by default")
	noticesOf := flag.String("notices", "", "only print the licence texts for a platform, for example linux/amd64")
	flag.Parse()
	run := func() error { return release(*repository, *out, *here) }
	if *noticesOf != "" {
		run = func() error { return printNotices(*repository, *noticesOf) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func release(repository, out string, here bool) error {
	repository, err := filepath.Abs(repository)
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(repository, "dist", "release")
	}
	if err := refuseWeaknesses(repository); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "magicctx-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	b := builder{repository: repository, stage: stage}
	if b.version, err = version(repository); err != nil {
		return err
	}
	manual, err := b.manual()
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, p := range platforms {
		if here && (p != platform{runtime.GOOS, runtime.GOARCH}) {
			continue
		}
		name, content, err := b.archive(p, manual)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
			return err
		}
		line := fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
		sums.WriteString(line)
		fmt.Print(line)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

func refuseWeaknesses(repository string) error {
	ofGo, err := advisories.Go()
	if err != nil {
		return err
	}
	ofModules, err := advisories.Modules(repository)
	if err != nil {
		return err
	}
	if found := append(ofGo, ofModules...); len(found) > 0 {
		return fmt.Errorf("known weaknesses; update first:\n%s", strings.Join(found, "\n"))
	}
	return nil
}

// All parts share the version of the shim's package.
func version(repository string) (string, error) {
	content, err := os.ReadFile(filepath.Join(repository, "adapters", "opencode-shim", "package.json"))
	if err != nil {
		return "", err
	}
	var manifest struct{ Version string }
	if err := json.Unmarshal(content, &manifest); err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	return manifest.Version, nil
}

type builder struct {
	repository, stage, version string
}

func (b builder) build(p platform) (string, error) {
	path := filepath.Join(b.stage, p.os+"-"+p.arch, program)
	if p.os == "windows" {
		path += ".exe"
	}
	// The flags are the same as in the Taskfile and in packaging/pack.mjs, so the build cache is shared.
	_, err := b.run(b.env(p), "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-buildvcs=false",
		"-ldflags", "-s -w -X "+module+"/rpc.Version="+b.version, "-o", path, "./cmd/"+program)
	return path, err
}

// The build must not depend on the machine: no C, and the oldest processors of each architecture.
func (b builder) env(p platform) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOOS="+p.os, "GOARCH="+p.arch)
}

// manual returns the files that the program itself writes, such as the manual page, by their names in the archive.
func (b builder) manual() (map[string][]byte, error) {
	path, err := b.build(platform{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, args := range map[string][]string{
		"man/magicctx-host.1":            {"man"},
		"completions/magicctx-host.bash": {"completion", "bash"},
		"completions/_magicctx-host":     {"completion", "zsh"},
		"completions/magicctx-host.fish": {"completion", "fish"},
		"magicctx.schema.json":           {"schema", "config"},
	} {
		if files[name], err = b.run(os.Environ(), path, args...); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (b builder) run(env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = b.repository, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, args[0], err)
	}
	return out, nil
}
