package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"github.com/magicctx/magicctx-host/internal/clock"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/rpc/daemon"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
)

func examine(t *testing.T, o Options) []Finding {
	t.Helper()
	findings, err := Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// `well` returns the options for a healthy machine with a running host and a stored session.
func well(t *testing.T) Options {
	t.Helper()
	home, err := os.MkdirTemp("", "mch") // the test's own directory may be too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	o := Options{
		Version: "1.4.0", Executable: filepath.Join(home, "bin", "magicctx-host"),
		DataDir: filepath.Join(home, "da[ta"), RuntimeDirs: []string{filepath.Join(home, "run"), filepath.Join(home, "tmp")},
		Directory: filepath.Join(home, "project"),
		Env:       func(name string) string { return map[string]string{"HOME": home}[name] },
		Now:       time.Now,
		LookPath: func(name string) (string, error) {
			if path := filepath.Join(home, "bin", name); exists(path) {
				return path, nil
			}
			return "", errors.New("not found")
		},
		VersionOf: func(context.Context, string) (string, error) { return "1.18.33\n", nil },
		AskHost: func(_ context.Context, dir string) (schema.StatusResult, error) {
			if dir != filepath.Join(home, "run") {
				return schema.StatusResult{}, daemon.ErrNoHost
			}
			return schema.StatusResult{Version: "1.4.0", PID: 4711, Enabled: true}, nil
		},
		FreeBytes: func(string) (uint64, error) { return 1 << 40, nil },
		Harnesses: []Harness{
			{
				ID: schema.HarnessOpenCode, Name: "OpenCode", Programs: []string{"opencode"},
				Conflicts: func(context.Context) ([]Conflict, error) { return nil, nil },
				Installed: func(context.Context) (string, error) { return "/home/u/.config/opencode/opencode.json", nil },
			},
			{
				ID: schema.HarnessPi, Name: "Pi", Programs: []string{"pi"}, HoldsCompactionBack: true,
				Conflicts: func(context.Context) ([]Conflict, error) { return nil, nil },
				Installed: func(context.Context) (string, error) { return "", nil },
			},
		},
	}
	for _, dir := range []string{"bin", "run", "project", ".config/magicctx", "data/logs"} {
		must(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	for _, file := range []string{"bin/magicctx-host", "bin/opencode"} {
		write(t, filepath.Join(home, file), "", 0o700)
	}
	write(t, filepath.Join(o.DataDir, "logs", "host.log"), "{}\n", 0o600)
	s, err := store.Open(t.Context(), store.Options{Dir: o.DataDir, Log: slog.New(slog.DiscardHandler), Clock: clock.NewManual(1)})
	must(t, err)
	must(t, s.RequestFlush(t.Context(), store.Key{Harness: "opencode", Session: "s"}, 1))
	must(t, s.Close())
	return o
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), mode))
	must(t, os.Chmod(path, mode)) // independent of the umask
}

// A killed host leaves its socket.
func listenAndDie(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestHealthyMachineHasNoProblems(t *testing.T) {
	o := well(t)
	checks := map[string]bool{}
	for _, f := range examine(t, o) {
		checks[f.Check] = true
		if f.Level != OK || f.Remedy != "" || f.Fixable {
			t.Errorf("found %+v", f)
		}
	}
	if len(checks) != 11 {
		t.Errorf("checked only %v", checks)
	}
}

func TestUnusedMachineHasNoProblems(t *testing.T) {
	o := well(t)
	o.DataDir, o.RuntimeDirs = filepath.Join(t.TempDir(), "a", "b"), []string{filepath.Join(t.TempDir(), "c")}
	o.AskHost = func(context.Context, string) (schema.StatusResult, error) {
		return schema.StatusResult{}, daemon.ErrNoHost
	}
	if findings := examine(t, o); Worst(findings) != OK {
		t.Errorf("found %+v", findings)
	}
	if exists(o.DataDir) || exists(o.RuntimeDirs[0]) {
		t.Error("a look made directories")
	}
}

// Each case damages a healthy machine in one way, and doctor must report only that damage.
func TestFindings(t *testing.T) {
	answer := func(st schema.StatusResult, err error) func(context.Context, string) (schema.StatusResult, error) {
		return func(context.Context, string) (schema.StatusResult, error) { return st, err }
	}
	for _, test := range []struct {
		name    string
		harm    func(t *testing.T, o *Options)
		check   string
		level   Level
		message string
		remedy  string
		// isFixed is true if the machine is healthy after Repair.
		isFixed bool
	}{
		{
			"another program", func(t *testing.T, o *Options) { o.Executable = filepath.Join(o.DataDir, "magicctx.db") },
			"program", Warn, "comes first on the PATH", "remove one", false,
		},
		{
			"other host version", func(t *testing.T, o *Options) { o.Version = "1.5.0" },
			"host", Warn, "version 1.4.0, this program is 1.5.0", "end process 4711", false,
		},
		{
			"host of another build of this version", func(_ *testing.T, o *Options) {
				o.ProgramHash = "new"
				o.AskHost = answer(schema.StatusResult{Version: o.Version, ProgramHash: "old", PID: 4711, Enabled: true}, nil)
			},
			"host", Warn, "another build of version 1.4.0 than this program", "end process 4711", false,
		},
		{
			"host of a build that cannot tell its hash", func(_ *testing.T, o *Options) { o.ProgramHash = "new" },
			"host", Warn, "another build", "end process 4711", false,
		},
		{
			"not on the PATH", func(t *testing.T, o *Options) {
				must(t, os.Remove(o.Executable))
				o.Executable = filepath.Join(t.TempDir(), "my tools", "magicctx-host")
				o.Harnesses[0].Installed = func(context.Context) (string, error) { return "", nil }
			},
			"plugin", Warn, "no configuration", "my tools/magicctx-host' install opencode", false,
		},
		{
			"other protocol", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{}, &rpc.Error{Code: schema.CodeVersion, Message: "protocol 2.0"})
			},
			"host", Fail, "protocol 2.0", "end the running host", false,
		},
		{
			"host hangs", func(t *testing.T, o *Options) { o.AskHost = answer(schema.StatusResult{}, context.DeadlineExceeded) },
			"host", Fail, "does not answer", "end its process, most likely", false,
		},
		{
			"another program at the host's socket", func(t *testing.T, o *Options) { o.AskHost = answer(schema.StatusResult{}, daemon.ErrForeign) },
			"host", Fail, "not a host of this user", "end that process", false,
		},
		{
			"host in trouble", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{Version: o.Version, Warnings: []schema.Warning{{Source: "store", Message: "nothing can be stored"}}}, nil)
			},
			"host", Fail, "nothing can be stored", "see the findings", false,
		},
		{
			"host was in trouble", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{Version: o.Version, Enabled: true, Warnings: []schema.Warning{{Source: "recovery", Message: "it was moved"}}}, nil)
			},
			"host", Warn, "it was moved", "nothing", false,
		},
		{
			"named program missing", name(func(*testing.T, *Options) {}),
			"program", Fail, "named, which is not an executable file", "unset MAGICCTX_HOST", false,
		},
		{
			"named program not executable", name(func(t *testing.T, o *Options) { write(t, o.Env(NamedBy), "", 0o600) }),
			"program", Fail, "named, which is not an executable file", "unset MAGICCTX_HOST", false,
		},
		{
			"named program ends", name(func(t *testing.T, o *Options) {
				write(t, o.Env(NamedBy), "", 0o700)
				o.VersionOf = says(o, "", errors.New("exit status 1: no such library"))
			}),
			"program", Fail, "cannot say its version: exit status 1: no such library", "unset MAGICCTX_HOST", false,
		},
		{
			"named program is none of ours", name(func(t *testing.T, o *Options) {
				write(t, o.Env(NamedBy), "", 0o700)
				o.VersionOf = says(o, "Segmentation fault\n", nil)
			}),
			"program", Fail, "prints no version", "unset MAGICCTX_HOST", false,
		},
		{
			"named program of another version", name(func(t *testing.T, o *Options) {
				write(t, o.Env(NamedBy), "", 0o700)
				o.VersionOf = says(o, "0.4.0\n", nil)
			}),
			"program", Warn, "which is version 0.4.0; this program is 1.4.0", "use one version", false,
		},
		{
			"bugs", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{Version: o.Version, Enabled: true, Warnings: []schema.Warning{{Source: "bug", Message: "2 broken invariants"}}}, nil)
			},
			"host", Warn, "2 broken invariants", "report it", false,
		},
		{ // once, doctor did not report these faults, although status shows them
			"a historian that fails", func(t *testing.T, o *Options) {
				failed := &schema.HistoryStatus{Failures: 2, LastError: "401 unauthorized"}
				o.AskHost = answer(schema.StatusResult{Version: o.Version, Enabled: true, Sessions: []schema.SessionStatus{
					{Session: "ses_now", LastPassAt: time.Now().Add(-time.Hour).UnixMilli(), History: failed},
					{Session: "ses_long_ago", LastPassAt: time.Now().Add(-48 * time.Hour).UnixMilli(), History: failed},
				}}, nil)
			},
			"host", Warn, "session ses_now: the historian has failed", "status ses_now", false,
		},
		{
			"markers that cannot be set", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{Version: o.Version, Enabled: true, Warnings: []schema.Warning{{Source: "markers", Message: "the database is locked"}}}, nil)
			},
			"host", Warn, "the database is locked", "compaction_markers", false,
		},
		{
			"no harness", func(t *testing.T, o *Options) {
				must(t, os.Remove(filepath.Join(filepath.Dir(o.Executable), "opencode")))
			},
			"harness", Warn, "opencode is not on the PATH", "install OpenCode", false,
		},
		{
			"old harness", func(t *testing.T, o *Options) {
				o.VersionOf = func(context.Context, string) (string, error) { return "v1.9.2", nil }
			},
			"harness", Warn, "1.9.2 is older than the 1.18", "update OpenCode", false,
		},
		{
			"a later generation", func(t *testing.T, o *Options) {
				o.VersionOf = func(context.Context, string) (string, error) { return "3.0.1", nil }
			},
			"harness", Warn, "3.0.1 is of a later generation", "newer magicctx", false,
		},
		{
			"a plugin for one version only", func(t *testing.T, o *Options) {
				o.Harnesses[0].EntryProblem = func(context.Context) (string, string, error) { return "only version 2 loads it", "move it", nil }
			},
			"plugin", Warn, "only version 2 loads it", "move it", false,
		},
		{
			"broken harness", func(t *testing.T, o *Options) {
				o.VersionOf = func(context.Context, string) (string, error) { return "", errors.New("exit status 127") }
			},
			"harness", Fail, "exit status 127", "by hand", false,
		},
		{
			"slow harness", func(_ *testing.T, o *Options) {
				o.VersionOf = func(context.Context, string) (string, error) { return "", errSlow }
			},
			"harness", Warn, "it took longer than 10s", "when the machine is idle", false,
		},
		{
			"strange harness", func(t *testing.T, o *Options) {
				o.VersionOf = func(context.Context, string) (string, error) { return "usage: ...", nil }
			},
			"harness", Warn, "usage: ...", "see that this is OpenCode", false,
		},
		{
			"no plugin", func(t *testing.T, o *Options) {
				o.Harnesses[0].Installed = func(context.Context) (string, error) { return "", nil }
			},
			"plugin", Warn, "no configuration", "magicctx-host install", false,
		},
		{
			"wrong key", func(t *testing.T, o *Options) {
				write(t, filepath.Join(o.Env("HOME"), ".config", "magicctx", "magicctx.jsonc"), `{"protected_tag": 3}`, 0o600)
			},
			"configuration", Warn, "protected_tag", "correct or remove it in", false,
		},
		{
			"switched off", func(t *testing.T, o *Options) {
				write(t, filepath.Join(o.Directory, "magicctx.jsonc"), `{"enabled": false}`, 0o600)
			},
			"configuration", Warn, "project" + string(filepath.Separator) + "magicctx.jsonc:1", "magicctx.jsonc", false,
		},
		{
			"conflict", func(t *testing.T, o *Options) {
				o.Harnesses[0].Conflicts = func(context.Context) ([]Conflict, error) {
					return []Conflict{{Where: "opencode.json:3:5", Problem: "the plugin x prunes the same messages", Remedy: "remove x"}}, nil
				}
			},
			"conflicts", Fail, "opencode.json:3:5: the plugin x prunes", "remove x", false,
		},
		{
			"damaged database", func(t *testing.T, o *Options) {
				write(t, filepath.Join(o.DataDir, "magicctx.db"), strings.Repeat("not a database ", 100), 0o600)
			},
			"store", Fail, "damaged", "close all sessions", false,
		},
		{
			"database of a build before the first release", func(t *testing.T, o *Options) {
				c, err := sqlite3.Open(filepath.Join(o.DataDir, "magicctx.db"))
				must(t, err)
				must(t, c.Exec("PRAGMA user_version = 24"))
				must(t, c.Close())
			},
			"store", Fail, "schema 24, a build before the first release wrote it: ", "move that file away", false,
		},
		{
			"damaged database aside", func(t *testing.T, o *Options) {
				write(t, filepath.Join(o.DataDir, "magicctx.db.corrupt-1700000000000"), "x", 0o600)
			},
			"store", Warn, "1 damaged database, moved aside, 1 KB in ", "delete them", false,
		},
		{
			"data directory open", func(t *testing.T, o *Options) { must(t, os.Chmod(o.DataDir, 0o777)) },
			"permissions", Warn, "open to others (mode 0777)", "chmod 0755 ", true,
		},
		{
			"runtime directory open", func(t *testing.T, o *Options) {
				o.AskHost = answer(schema.StatusResult{}, daemon.ErrNoHost)
				must(t, os.Chmod(o.RuntimeDirs[0], 0o755))
			},
			"permissions", Warn, "open to others (mode 0755)", "chmod 0700 ", true,
		},
		{
			"runtime directory is a file", func(t *testing.T, o *Options) {
				must(t, os.Remove(o.RuntimeDirs[0]))
				o.AskHost = answer(schema.StatusResult{}, daemon.ErrNoHost)
				must(t, os.Symlink(filepath.Join(o.DataDir, "logs"), o.RuntimeDirs[0]))
			},
			"permissions", Warn, "is no directory", "remove it", false,
		},
		{
			"database readable", func(t *testing.T, o *Options) { must(t, os.Chmod(filepath.Join(o.DataDir, "magicctx.db"), 0o644)) },
			"permissions", Warn, "magicctx.db has mode 0644", "chmod 0600 ", true,
		},
		{
			"log readable", func(t *testing.T, o *Options) { must(t, os.Chmod(filepath.Join(o.DataDir, "logs", "host.log"), 0o640)) },
			"permissions", Warn, "host.log has mode 0640", "chmod 0600 ", true,
		},
		{
			"stale socket", func(t *testing.T, o *Options) { listenAndDie(t, filepath.Join(o.RuntimeDirs[0], "0123abcd.sock")) },
			"leftovers", Warn, "nobody listens at", "rm ", true,
		},
		{
			"stale socket in a directory that is not used", func(t *testing.T, o *Options) {
				must(t, os.Mkdir(o.RuntimeDirs[1], 0o700))
				listenAndDie(t, filepath.Join(o.RuntimeDirs[1], "0123abcd.sock"))
			},
			"leftovers", Warn, "nobody listens at", "rm ", true,
		},
		{
			"old log", func(t *testing.T, o *Options) {
				log := filepath.Join(o.DataDir, "logs", "host.log.1")
				write(t, log, "", 0o600)
				old := time.Now().Add(-50 * 24 * time.Hour)
				must(t, os.Chtimes(log, old, old))
			},
			"leftovers", Warn, "host.log.1 is 50 days old", "rm ", true,
		},
		{
			"large logs", func(t *testing.T, o *Options) {
				must(t, os.Truncate(filepath.Join(o.DataDir, "logs", "host.log"), manyLogBytes+1))
			},
			"leftovers", Warn, "the logs take 64 MB", "remove those", false,
		},
		{
			"full disk", func(t *testing.T, o *Options) {
				o.FreeBytes = func(string) (uint64, error) { return tooLittleSpace - 1, nil }
			},
			"disk", Fail, "32 MB are left", "free some space", false,
		},
		{
			"little space", func(t *testing.T, o *Options) {
				o.FreeBytes = func(string) (uint64, error) { return littleSpace - 1, nil }
			},
			"disk", Warn, "512 MB are left", "free some space", false,
		},
		{
			"a trace at its limit", func(t *testing.T, o *Options) {
				path := filepath.Join(o.DataDir, "traces", "1700000000000-1.jsonl")
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must(t, os.WriteFile(path, nil, 0o600))
				must(t, os.Truncate(path, rpc.MaxRecordedBytes-1))
			},
			"disk", Warn, "a trace ends at 256 MB", "trace off", false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && test.check == "permissions" {
				t.Skip("modes say nothing here")
			}
			o := well(t)
			test.harm(t, &o)
			findings := examine(t, o)
			found := 0
			for _, f := range findings {
				if f.Level == OK {
					continue
				}
				found++
				if f.Check != test.check || f.Level != test.level || !strings.Contains(f.Message, test.message) || !strings.Contains(f.Remedy, test.remedy) {
					t.Errorf("found %+v,\nwant %s %s: %q, remedy %q", f, test.check, test.level, test.message, test.remedy)
				}
				if f.Fixable != test.isFixed {
					t.Errorf("fixable: %t, want %t", f.Fixable, test.isFixed)
				}
			}
			if found != 1 || Worst(findings) != test.level {
				t.Errorf("%d findings, worst %s, want one, %s:\n%+v", found, Worst(findings), test.level, findings)
			}
			must(t, Repair(t.Context(), findings))
			if test.isFixed && Worst(findings) != OK {
				t.Errorf("after repair: %+v", findings)
			}
			if again := Worst(examine(t, o)); test.isFixed && again != OK {
				t.Errorf("after repair another look finds: %s", again)
			}
		})
	}
}

func name(harm func(*testing.T, *Options)) func(*testing.T, *Options) {
	return func(t *testing.T, o *Options) {
		env, named := o.Env, filepath.Join(filepath.Dir(o.Executable), "named")
		o.Env = func(key string) string {
			if key == NamedBy {
				return named
			}
			return env(key)
		}
		harm(t, o)
	}
}

func says(o *Options, out string, err error) func(context.Context, string) (string, error) {
	others, named := o.VersionOf, o.Env(NamedBy)
	return func(ctx context.Context, program string) (string, error) {
		if program == named {
			return out, err
		}
		return others(ctx, program)
	}
}

func TestNamedProgramThatHangsIsTold(t *testing.T) {
	o := well(t)
	hangs := func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", errors.New("signal: killed")
	}
	synctest.Test(t, func(t *testing.T) {
		env := func(string) string { return o.Executable }
		problem, isBroken := Named(t.Context(), env, o.Version, hangs)
		if !isBroken || !strings.Contains(problem, o.Executable+", which does not answer") {
			t.Errorf("broken %v: %s", isBroken, problem)
		}
	})
}

// If no directory is usable for the socket, no host can start. A finding must name the problem of each directory.
func TestNoDirectoryForTheSocket(t *testing.T) {
	o := well(t)
	o.RuntimeDirs = nil
	for _, dir := range []string{"one", "two"} {
		file := filepath.Join(o.DataDir, dir)
		write(t, file, "", 0o600)
		o.RuntimeDirs = append(o.RuntimeDirs, file)
	}
	o.RuntimeDirs = append(o.RuntimeDirs, filepath.Join(o.DataDir, "missing", "three"))
	var told []string
	for _, f := range examine(t, o) {
		if f.Level == Fail {
			told = append(told, f.Check+": "+f.Message)
		}
	}
	all := strings.Join(told, "\n")
	for _, want := range append(o.RuntimeDirs[:2:2], filepath.Join(o.DataDir, "missing"), "host: there is no directory") {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not told:\n%s", want, all)
		}
	}
	if len(told) != 4 {
		t.Errorf("told:\n%s", all)
	}
}

func TestDirectoryInUseIsNamed(t *testing.T) {
	o := well(t)
	write(t, o.RuntimeDirs[0]+"/file", "", 0o600)
	o.RuntimeDirs[0] += "/file"
	o.AskHost = func(_ context.Context, dir string) (schema.StatusResult, error) {
		if dir != o.RuntimeDirs[1] {
			return schema.StatusResult{}, daemon.ErrNoHost
		}
		return schema.StatusResult{Version: "1.4.0", PID: 4711, Enabled: true}, nil
	}
	findings := examine(t, o)
	named := slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Check == "host" && strings.HasSuffix(f.Message, "its socket in "+o.RuntimeDirs[1])
	})
	if !named || Worst(findings) != Warn {
		t.Errorf("found %+v", findings)
	}
}

func TestNewerDatabaseIsTold(t *testing.T) {
	x := examination{Options: well(t), notes: notes{check: "store"}}
	path := filepath.Join(x.DataDir, "magicctx.db")
	content, err := os.ReadFile(path)
	must(t, err)
	content[63] = 99 // user_version, https://sqlite.org/fileformat2.html#the_database_header
	write(t, path, string(content), 0o600)
	x.store(t.Context())
	if f := x.findings[0]; f.Level != Fail || !strings.Contains(f.Message, "schema 99") || f.Remedy != "update magicctx-host" {
		t.Errorf("found %+v", f)
	}
}

func TestRepairGoesOn(t *testing.T) {
	broken := errors.New("the disk is read-only")
	findings := []Finding{
		{Level: Fail, Message: "first", Fixable: true, fix: func(context.Context) error { return broken }},
		{Level: Fail, Message: "second", Fixable: true, fix: func(context.Context) error { return nil }},
		{Level: OK, Message: "third"},
	}
	err := Repair(t.Context(), findings)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "first") {
		t.Errorf("got %v", err)
	}
	if findings[0].Fixed || !findings[1].Fixed || findings[2].Fixed || Worst(findings) != Fail {
		t.Errorf("got %+v", findings)
	}
}

func TestFilesOfOtherUsersAreReported(t *testing.T) {
	x := examination{Options: well(t), notes: notes{check: "permissions"}}
	path := filepath.Join(x.DataDir, "magicctx.db")
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Skipf("cannot give a file away: %v", err)
	}
	x.permissions(t.Context())
	if f := x.findings[0]; f.Level != Fail || !strings.Contains(f.Message, "belongs to user 12345") || !strings.Contains(f.Remedy, "do not use it") || f.Fixable {
		t.Errorf("found %+v", f)
	}
}

// A hostile user may create the directory of another user's sockets, and put a hostile program's socket there. Doctor
// must neither use this directory, nor advise the user to take it over.
func TestForeignRuntimeDirectoryIsNeverAdopted(t *testing.T) {
	o := well(t)
	dir := o.RuntimeDirs[0]
	listenAndDie(t, filepath.Join(dir, "0123abcd.sock"))
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Skipf("cannot give a directory away: %v", err)
	}
	must(t, os.Chmod(dir, 0o777))
	o.AskHost = func(context.Context, string) (schema.StatusResult, error) {
		return schema.StatusResult{}, daemon.ErrNoHost
	}
	findings := examine(t, o)
	i := slices.IndexFunc(findings, func(f Finding) bool { return strings.Contains(f.Message, dir+" belongs to user 12345") })
	if i < 0 {
		t.Fatalf("the directory is not reported: %+v", findings)
	}
	if f := findings[i]; strings.Contains(f.Remedy, "chown") || !strings.Contains(f.Remedy, "do not use it") {
		t.Errorf("advice: %q", f.Remedy)
	}
	if err := Repair(t.Context(), findings); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 || !exists(filepath.Join(dir, "0123abcd.sock")) {
		t.Errorf("the repair has changed the directory: %v, %v", info, err)
	}
}

// A host inherits its environment from the client that started it, and this environment decides where the host puts its
// socket. doctor must find the socket even if its own environment is different.
func TestHostOfAnotherEnvironmentIsFound(t *testing.T) {
	o := well(t)
	o.OtherDirs = o.RuntimeDirs[:1]
	o.RuntimeDirs = []string{filepath.Join(filepath.Dir(o.DataDir), "better")}
	for _, f := range examine(t, o) {
		if f.Check == "host" && (f.Level != OK || !strings.Contains(f.Message, o.OtherDirs[0])) {
			t.Errorf("found %+v", f)
		}
	}
}

func TestSwitchedOffForOneHarnessIsNotWell(t *testing.T) {
	o := well(t)
	write(t, filepath.Join(filepath.Dir(o.DataDir), ".config", "opencode", "magicctx.jsonc"), `{"enabled": false}`, 0o600)
	found := false
	for _, f := range examine(t, o) {
		found = found || f.Check == "configuration" && f.Level == Warn && strings.Contains(f.Message, "switched off for OpenCode in")
	}
	if !found {
		t.Errorf("not told: %+v", examine(t, o))
	}
}

// Both versions of OpenCode may be installed, under different names. doctor must examine each of them.
func TestVersionsOfOpenCode(t *testing.T) {
	o := well(t)
	o.Harnesses[0].Programs = []string{"opencode", "opencode2"}
	write(t, filepath.Join(filepath.Dir(o.Executable), "opencode2"), "", 0o700)
	o.VersionOf = func(_ context.Context, program string) (string, error) {
		return map[string]string{"opencode": "1.18.33\n", "opencode2": "2.3.1\n"}[filepath.Base(program)], nil
	}
	var found []string
	for _, f := range examine(t, o) {
		if f.Level != OK {
			t.Errorf("found %+v", f)
		}
		if f.Check == "harness" {
			found = append(found, f.Message)
		}
	}
	if len(found) != 2 || strings.Contains(found[0], "service") || !strings.Contains(found[1], "opencode2 2.3.1") || !strings.Contains(found[1], "opencode service restart") {
		t.Errorf("found %q", found)
	}
}

func TestPluginOfOpenCode2(t *testing.T) {
	const head = "ID        VERSION  SOURCE\n"
	for _, test := range []struct {
		list            string
		err             error
		level           Level
		message, remedy string
	}{
		{level: OK}, // no server
		{list: head + "-         -        /p/other\nmagicctx  local    /data/magicctx/opencode\n", level: OK},
		{list: head + "-         local    /data/magicctx/opencode\n", level: Fail, message: "could not load the plugin from /data/magicctx/opencode", remedy: "opencode service restart"},
		{list: "No plugins found\n", level: Warn, message: "has started without the plugin", remedy: "opencode service restart"},
		{err: errors.New("exit status 1: no"), level: Warn, message: "opencode plugin list: exit status 1: no", remedy: "by hand"},
	} {
		o := well(t)
		o.VersionOf = func(context.Context, string) (string, error) { return "2.0.26\n", nil }
		o.PluginsOf = func(context.Context, string) (string, error) { return test.list, test.err }
		all := examine(t, o)
		if Worst(all) != test.level {
			t.Errorf("%q: worst is %s, want %s: %+v", test.list, Worst(all), test.level, all)
		}
		if test.level != OK && !slices.ContainsFunc(all, func(f Finding) bool {
			return f.Check == "harness" && f.Level == test.level && strings.Contains(f.Message, test.message) && strings.Contains(f.Remedy, test.remedy)
		}) {
			t.Errorf("%q: found %+v", test.list, all)
		}
	}
}

// `pi` returns the options for a healthy machine on which both harnesses are used.
func pi(t *testing.T) (Options, *Harness) {
	t.Helper()
	o := well(t)
	write(t, filepath.Join(filepath.Dir(o.Executable), "pi"), "", 0o700)
	h := &o.Harnesses[1]
	h.Installed = func(context.Context) (string, error) { return "/home/u/.pi/agent/settings.json", nil }
	h.CompactionOff = func(context.Context) (string, error) { return "", nil }
	others := o.VersionOf
	o.VersionOf = func(ctx context.Context, program string) (string, error) {
		if filepath.Base(program) == "pi" {
			return "0.87.1\n", nil
		}
		return others(ctx, program)
	}
	return o, h
}

func TestPiFindings(t *testing.T) {
	answers := func(version string) func(*testing.T, *Options, *Harness) {
		return func(_ *testing.T, o *Options, _ *Harness) {
			others := o.VersionOf
			o.VersionOf = func(ctx context.Context, program string) (string, error) {
				if filepath.Base(program) == "pi" {
					return version, nil
				}
				return others(ctx, program)
			}
		}
	}
	for _, test := range []struct {
		name    string
		change  func(t *testing.T, o *Options, h *Harness)
		check   string
		level   Level // OK means that the examination finds nothing else
		message string
		remedy  string
	}{
		{"well", func(*testing.T, *Options, *Harness) {}, "harness", OK, "pi 0.87.1, ", ""},
		{"oldest", answers("0.74.2"), "harness", OK, "pi 0.74.2, ", ""},
		{"newer than tested", answers("1.5.2"), "harness", OK, "only checked by their types", ""},
		{"too old", answers("0.73.9"), "harness", Warn, "pi 0.73.9 is older than the 0.74", "update Pi to 0.87"},
		{"too new", answers("2.0.0"), "harness", Warn, "pi 2.0.0 is of a later generation", "look for a newer magicctx"},
		{"another pi", answers("3.14159 is all I know"), "harness", Warn, "of a later generation", ""},
		{"no version", answers("usage: pi"), "harness", Warn, "says its version is", "see that this is Pi"},
		{
			"not on the PATH", func(t *testing.T, o *Options, _ *Harness) {
				must(t, os.Remove(filepath.Join(filepath.Dir(o.Executable), "pi")))
			}, "harness", Warn, "pi is not on the PATH", "install Pi",
		},
		{
			"not installed there", func(_ *testing.T, _ *Options, h *Harness) {
				h.Installed = func(context.Context) (string, error) { return "", nil }
				h.Conflicts = func(context.Context) ([]Conflict, error) {
					return []Conflict{{Where: "f", Problem: "p", Remedy: "r"}}, nil
				}
			}, "plugin", OK, "no configuration of Pi names the plugin; magicctx-host install pi adds it", "",
		},
		{
			"settings broken", func(_ *testing.T, _ *Options, h *Harness) {
				h.Installed = func(context.Context) (string, error) {
					return "", errors.New("settings.json:3:1: a comment or a trailing comma")
				}
			}, "plugin", Fail, "settings.json:3:1", "correct the file",
		},
		{
			"plugin gone", func(t *testing.T, _ *Options, h *Harness) {
				h.PluginFile = func(context.Context) (string, error) { return filepath.Join(t.TempDir(), "index.js"), nil }
			}, "plugin", Fail, "the plugin is gone", "run magicctx-host install pi",
		},
		{
			"plugin of another version", func(_ *testing.T, _ *Options, h *Harness) {
				h.Shim = func(context.Context) ([]ShimProblem, error) {
					return []ShimProblem{{Problem: "the plugin is of another version"}}, nil
				}
				h.RenewShim = func(context.Context) error { return nil }
			}, "plugin", Warn, "another version", "magicctx-host install pi",
		},
		{
			"host gone", func(_ *testing.T, _ *Options, h *Harness) {
				h.Shim = func(context.Context) ([]ShimProblem, error) {
					return []ShimProblem{{Problem: "the plugin starts /x, which is gone", IsFatal: true}}, nil
				}
				h.RenewShim = func(context.Context) error { return nil }
			}, "plugin", Fail, "/x, which is gone", "install pi",
		},
		{ // P11: the file of the recorded host is incomplete. The examination reports this once, not as several problems.
			"host broken", func(_ *testing.T, o *Options, h *Harness) {
				h.Shim = func(context.Context) ([]ShimProblem, error) {
					return []ShimProblem{{Problem: "the plugin starts another program than this one: /x", Program: "/x"}}, nil
				}
				h.RenewShim = func(context.Context) error { return nil }
				others := o.VersionOf
				o.VersionOf = func(ctx context.Context, program string) (string, error) {
					if program == "/x" {
						return "", errors.New("segmentation fault")
					}
					return others(ctx, program)
				}
			}, "plugin", Fail, "/x, which does not run: segmentation fault", "install pi",
		},
		{
			"conflict", func(_ *testing.T, _ *Options, h *Harness) {
				h.Conflicts = func(context.Context) ([]Conflict, error) {
					return []Conflict{{Where: "f", Problem: "p", Remedy: "r"}}, nil
				}
			}, "conflicts", Fail, "f: p", "r",
		},
		{
			"switched off", func(t *testing.T, o *Options, _ *Harness) {
				write(t, filepath.Join(o.Env("HOME"), ".pi", "agent", "magicctx.jsonc"), `{"enabled": false}`, 0o600)
			}, "configuration", Warn, "switched off for Pi in", "enabled",
		},
		{
			"compaction on", func(*testing.T, *Options, *Harness) {},
			"compaction", OK, "Pi's own compaction is on; magicctx holds it back", "",
		},
		{
			"compaction off", func(_ *testing.T, _ *Options, h *Harness) {
				h.CompactionOff = func(context.Context) (string, error) { return "settings.json", nil }
			}, "compaction", OK, "Pi's own compaction is off", "",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, h := pi(t)
			test.change(t, &o, h)
			findings := examine(t, o)
			if Worst(findings) != test.level {
				t.Errorf("worst is %s, want %s: %+v", Worst(findings), test.level, findings)
			}
			if !slices.ContainsFunc(findings, func(f Finding) bool {
				return f.Check == test.check && f.Harness == schema.HarnessPi && f.Level == test.level &&
					strings.Contains(f.Message, test.message) && strings.Contains(f.Remedy, test.remedy)
			}) {
				t.Errorf("no %s of %s with %q, remedy %q: %+v", test.level, test.check, test.message, test.remedy, findings)
			}
			for _, f := range findings {
				if f.Harness == schema.HarnessOpenCode && f.Level != OK {
					t.Errorf("OpenCode has a problem, too: %+v", f)
				}
			}
		})
	}
}

func TestUnusedHarnessIsNotMentioned(t *testing.T) {
	o, _ := pi(t)
	must(t, os.Remove(filepath.Join(filepath.Dir(o.Executable), "opencode")))
	o.Harnesses[0].Installed = func(context.Context) (string, error) { return "", nil }
	o.Harnesses[0].CompactionOff = func(context.Context) (string, error) { return "", nil }
	for _, f := range examine(t, o) {
		if f.Level != OK || f.Harness == schema.HarnessOpenCode || strings.Contains(f.Message, "OpenCode") {
			t.Errorf("found %+v", f)
		}
	}
}

func TestTroubleOfPiLeavesCompactionOfOpenCodeOff(t *testing.T) {
	o, h := pi(t)
	h.Conflicts = func(context.Context) ([]Conflict, error) {
		return []Conflict{{Where: "f", Problem: "p", Remedy: "r"}}, nil
	}
	off := func(context.Context) (string, error) { return "file", nil }
	o.Harnesses[0].CompactionOff, h.CompactionOff = off, off
	o.Harnesses[0].RestoreCompaction = func(context.Context, bool) error {
		t.Error("OpenCode's compaction was given back")
		return nil
	}
	findings := examine(t, o)
	must(t, Repair(t.Context(), findings))
	if !slices.ContainsFunc(findings, func(f Finding) bool {
		return f.Check == "compaction" && f.Harness == schema.HarnessPi && f.Level == Warn && strings.Contains(f.Message, "nothing keeps sessions below") && !f.Fixable
	}) {
		t.Errorf("Pi's compaction is not mentioned: %+v", findings)
	}
}

func TestPluginThatCannotWorkIsNotWell(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, o *Options, dir string)
		level   Level
		want    string
	}{
		"plugin gone":   {func(t *testing.T, _ *Options, dir string) { must(t, os.Remove(filepath.Join(dir, "index.js"))) }, Fail, "the plugin is gone"},
		"no host":       {func(*testing.T, *Options, string) {}, Fail, "finds no host"},
		"host recorded": {func(t *testing.T, o *Options, dir string) { recordHost(t, dir, o.Executable) }, OK, "the plugin of OpenCode starts "},
		"recorded host is gone": {
			func(t *testing.T, o *Options, dir string) { recordHost(t, dir, o.Executable+".gone") },
			Fail, "magicctx-host.gone",
		},
		"host on the PATH": {func(_ *testing.T, o *Options, _ string) {
			o.LookPath = func(string) (string, error) { return o.Executable, nil }
		}, OK, "the plugin of OpenCode starts "},
		"host packaged": {func(t *testing.T, _ *Options, dir string) {
			write(t, filepath.Join(dir, "..", "bin", hostName()), "", 0o700)
		}, OK, "the plugin of OpenCode starts "},
	} {
		t.Run(name, func(t *testing.T) {
			o := well(t)
			dir := filepath.Join(filepath.Dir(o.DataDir), "shim", "dist")
			write(t, filepath.Join(dir, "index.js"), "", 0o600)
			o.Harnesses[0].PluginFile = func(context.Context) (string, error) { return filepath.Join(dir, "index.js"), nil }
			o.LookPath = func(name string) (string, error) {
				if name == "opencode" {
					return o.Executable, nil
				}
				return "", errors.New("not found")
			}
			test.prepare(t, &o, dir)
			findings := examine(t, o)
			if !slices.ContainsFunc(findings, func(f Finding) bool {
				return f.Check == "plugin" && f.Level == test.level && strings.Contains(f.Message, test.want)
			}) {
				t.Errorf("no finding of level %s with %q: %+v", test.level, test.want, findings)
			}
		})
	}
}

func recordHost(t *testing.T, dir, host string) {
	write(t, filepath.Join(dir, "host.json"), fmt.Sprintf(`{"host": %q}`, host), 0o600)
}

// While magicctx does not work, nothing keeps sessions short. As a last resort, doctor restores the harness's own
// compaction.
func TestCompactionIsGivenBackWhileMagicctxCannotWork(t *testing.T) {
	for name, test := range map[string]struct {
		harm     func(t *testing.T, o *Options)
		off      bool
		restored bool
		want     string // "" if there is no warning
	}{
		"works":                   {func(*testing.T, *Options) {}, true, false, ""},
		"works, but OpenCode too": {func(*testing.T, *Options) {}, false, false, "own compaction is on"},
		"conflict": {func(_ *testing.T, o *Options) {
			o.Harnesses[0].Conflicts = func(context.Context) ([]Conflict, error) {
				return []Conflict{{Where: "f", Problem: "p", Remedy: "r"}}, nil
			}
		}, true, true, "nothing keeps sessions below"},
		// On a loaded machine, doctor once concluded from a slow `opencode --version` that magicctx does not work.
		"slow": {func(_ *testing.T, o *Options) {
			o.VersionOf = func(context.Context, string) (string, error) { return "", errSlow }
		}, true, false, ""},
		"switched off": {func(t *testing.T, o *Options) {
			write(t, filepath.Join(filepath.Dir(o.DataDir), ".config", "magicctx", "magicctx.jsonc"), `{"enabled": false}`, 0o600)
		}, true, true, "nothing keeps sessions below"},
		"repaired": {func(t *testing.T, o *Options) { must(t, os.Chmod(o.DataDir, 0o500)) }, true, false, "nothing keeps sessions below"},
	} {
		t.Run(name, func(t *testing.T) {
			o := well(t)
			restored := false
			o.Harnesses[0].CompactionOff = func(context.Context) (string, error) {
				if test.off {
					return "/home/u/.config/opencode/opencode.json", nil
				}
				return "", nil
			}
			o.Harnesses[0].RestoreCompaction = func(context.Context, bool) error {
				restored = true
				return nil
			}
			test.harm(t, &o)
			findings := examine(t, o)
			i := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == "compaction" && f.Level == Warn })
			if (i >= 0) != (test.want != "") || i >= 0 && !strings.Contains(findings[i].Message, test.want) {
				t.Errorf("want a warning with %q: %+v", test.want, findings)
			}
			if err := Repair(t.Context(), findings); err != nil {
				t.Error(err)
			}
			if restored != test.restored {
				t.Errorf("compaction was given back: %t, want %t", restored, test.restored)
			}
		})
	}
}

func TestFreeBytesKnowsThisDisk(t *testing.T) {
	if free, err := FreeBytes(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d bytes, %v", free, err)
	}
	if _, err := FreeBytes(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that does not exist has free space")
	}
}

func TestHostileCloneChecksEndAtTheirDeadline(t *testing.T) {
	o := well(t)
	o.Timeout = 50 * time.Millisecond
	release := make(chan struct{})
	defer close(release)
	o.Harnesses[0].Conflicts = func(context.Context) ([]Conflict, error) {
		<-release
		return nil, nil
	}
	var names []string
	for _, f := range examine(t, o) {
		if f.Check == "conflicts" && (f.Level != Warn || !strings.Contains(f.Message, "given up")) {
			t.Errorf("the check that hangs: %+v", f)
		}
		names = append(names, f.Check)
	}
	for _, name := range []string{"conflicts", "permissions", "disk"} {
		if !slices.Contains(names, name) {
			t.Errorf("nothing is said about %s: %v", name, names)
		}
	}
}

func TestB10RetentionIsShown(t *testing.T) {
	x := examination{Options: well(t), notes: notes{check: "retention"}}
	x.Now = func() time.Time { return time.UnixMilli(1).Add(200 * 24 * time.Hour) } // the session was used at 1
	x.retention(t.Context())
	var all []string
	for _, f := range x.findings {
		all = append(all, f.Message)
	}
	said := strings.Join(all, "\n")
	for _, want := range []string{"sessions are kept for 90 days", "tool replies for 30", "models for 365", "the oldest session was last used 200 days ago"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
}
