package rpc

import (
	stdjson "encoding/json" // jsonrpc2's response type holds stdjson.RawMessage
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/magicctx/magicctx-host/internal/bug"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/program"
	"github.com/magicctx/magicctx-host/schema"
)

var protocol = schema.Version{Major: schema.ProtocolMajor, Minor: schema.ProtocolMinor}

// clientInfo holds the facts about a client from the initialize calls on its connection.
type clientInfo struct {
	initialized bool
	status      schema.ClientStatus
	timeouts    map[string]transformTimeouts // the time limits by directory
}

type transformTimeouts struct{ delta, resync time.Duration }

// The first initialize call of a connection decides to which harness the connection belongs.
func (c *conn) admit(p *schema.InitializeParams) error {
	if p.Protocol.Major != schema.ProtocolMajor {
		message := versionMismatch(p)
		c.log.Warn("client refused", "pid", p.PID, "cause", message)
		return refuse(schema.CodeVersion, "%s", message)
	}
	if p.Harness != "" && !slices.Contains(schema.Harnesses, p.Harness) {
		return refuse(jsonrpc2.CodeInvalidParams, "params: /harness is %.40q, which this host does not know", p.Harness)
	}
	if p.Harness != "" && p.Directory == "" {
		return missing("directory")
	}
	if err := checkNames(p); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	st := &c.client.status
	if c.client.initialized && st.Harness != p.Harness {
		return refuse(jsonrpc2.CodeInvalidRequest, "this connection is of harness %q, not %q", st.Harness, p.Harness)
	}
	isNew := p.Directory != "" && !slices.Contains(st.Directories, p.Directory)
	if isNew {
		if err := c.names.grow(len(json.Quote(p.Directory))); err != nil {
			return refuse(schema.CodeBusy, "%v", err)
		}
	}
	if !c.client.initialized {
		*st = schema.ClientStatus{Client: p.Client, Version: p.ClientVersion, Harness: p.Harness, PID: p.PID}
		c.client.initialized = true
		c.client.timeouts = map[string]transformTimeouts{}
	}
	if isNew {
		st.Directories = append(st.Directories, p.Directory)
	}
	return nil
}

const (
	// maxNameBytes bounds the name and the version of a client.
	maxNameBytes = 256
	// maxPathBytes allows the longest path of any system: 32,767 UTF-16 code units on Windows.
	maxPathBytes = 96 << 10
	// maxSessionBytes limits the id of a session. OpenCode's ids have 30 bytes.
	maxSessionBytes = 1 << 10
)

// checkNames refuses very long names, because every status contains the names.
func checkNames(p *schema.InitializeParams) error {
	for _, name := range []struct {
		field, value string
		limit        int
	}{
		{"client", p.Client, maxNameBytes},
		{"clientVersion", p.ClientVersion, maxNameBytes},
		{"directory", p.Directory, maxPathBytes},
		{"worktree", p.Worktree, maxPathBytes},
	} {
		if len(name.value) > name.limit {
			return tooLong(name.field, len(name.value), name.limit)
		}
		if strings.ContainsRune(name.value, 0) {
			return refuse(jsonrpc2.CodeInvalidParams, "params: /%s holds a zero byte; %s", name.field, pathRemedy)
		}
	}
	if p.Directory != "" && !isAbsolute(p.Directory) {
		return refuse(jsonrpc2.CodeInvalidParams, "params: /directory is %.100q, which depends on where the host runs; %s", p.Directory, pathRemedy)
	}
	return nil
}

const pathRemedy = "send the absolute path of the project's directory"

// isAbsolute recognises the absolute paths of all systems, because a trace may be replayed on a system other than the
// one on which it was recorded.
func isAbsolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':'
}

func tooLong(field string, bytes, limit int) error {
	return refuse(jsonrpc2.CodeInvalidParams, "params: /%s has %d bytes, at most %d", field, bytes, limit)
}

func versionMismatch(p *schema.InitializeParams) string {
	client := p.Client
	if client == "" {
		client = "the client"
	}
	remedy := "update " + client
	if p.Protocol.Major > schema.ProtocolMajor {
		remedy = "update magicctx-host, and end the old one that still runs"
	}
	return fmt.Sprintf("%s %s speaks protocol %d.%d, magicctx-host %s speaks %d.%d: %s",
		client, p.ClientVersion, p.Protocol.Major, p.Protocol.Minor,
		Version, protocol.Major, protocol.Minor, remedy)
}

// The method `complete` fills in the fields of a result that only this package knows, for example HostPID.
func (c *conn) complete(params, result any) any {
	switch r := result.(type) {
	case schema.InitializeResult:
		r.Protocol, r.HostVersion, r.HostPID = protocol, Version, os.Getpid()
		p := params.(*schema.InitializeParams)
		c.remember(p.Directory, r)
		if p.Directory != "" {
			c.log.Info("directory opened", "directory", p.Directory, "client", p.Client, "version", p.ClientVersion,
				"pid", p.PID, "enabled", r.Enabled, "reason", r.Reason)
		}
		return r
	case schema.VersionResult:
		return schema.VersionResult{Version: Version, Protocol: protocol, PID: os.Getpid()}
	case schema.StatusResult:
		r.Version, r.Protocol, r.PID, r.ProgramHash = Version, protocol, os.Getpid(), program.Hash()
		r.StartedAt, r.Bugs = c.server.startedAt, bug.Count()
		r.Clients = c.server.clients()
		return r
	}
	return result
}

func (c *conn) remember(directory string, r schema.InitializeResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client.timeouts[directory] = transformTimeouts{
		delta:  time.Duration(r.TransformTimeoutMS) * time.Millisecond,
		resync: time.Duration(r.ResyncTimeoutMS) * time.Millisecond,
	}
}

// The method `deadline` returns the time limit of a call. For a transform, it is the limit that initialize returned for
// the transform's directory. For any other call, it is the limit of the method.
func (c *conn) deadline(m method, b bound) time.Duration {
	p, ok := b.params.(*schema.TransformParams)
	if !ok {
		return m.deadline
	}
	c.mu.Lock()
	t := c.client.timeouts[p.Directory]
	c.mu.Unlock()
	if p.Base == 0 {
		return orElse(t.resync, defaultResyncTimeout)
	}
	return orElse(t.delta, defaultTransformTimeout)
}

func orElse(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

func (c *conn) harness() schema.Harness {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client.status.Harness
}

// The second result is false before the first initialize.
func (c *conn) status() (schema.ClientStatus, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.client.status
	st.Directories = slices.Clone(st.Directories)
	return st, c.client.initialized
}

func emptyResponse(id jsonrpc2.ID) *jsonrpc2.Response {
	empty := stdjson.RawMessage("{}")
	return &jsonrpc2.Response{ID: id, Result: &empty}
}
