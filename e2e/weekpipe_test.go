package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/tokens"
	"github.com/magicctx/magicctx-host/rpc"
	"github.com/magicctx/magicctx-host/schema"
)

// The test itself is the harness, and speaks with the host over a pipe. So the week takes a second.
func TestWeekOverAPipe(t *testing.T) {
	testWeek(t, schema.HarnessOpenCode, func(w *week) player { return &pipe{week: w} })
}

// A pipe is a harness that starts a host of its own for each session.
type pipe struct {
	*week
	host     *exec.Cmd
	client   *rpc.Client
	told     chan string // the notices
	project  string
	session  string
	sessions int
	messages []string
	used     []usage
}

// A usage is the usage of a request, in tokens.
type usage struct{ input, output, read, write int }

func (u usage) dollars() float64 {
	return (float64(u.input)*sonnet.Fresh + float64(u.output)*sonnet.Output + float64(u.read)*sonnet.Read + float64(u.write)*sonnet.Write) / 1e6
}

var sonnet = schema.Price{Fresh: 3, Output: 15, Read: 0.3, Write: 3.75} // $ per million tokens

func (p *pipe) prompts() (dollars float64) {
	for _, u := range p.used {
		dollars += u.dollars()
	}
	return dollars
}

// connect starts the host, and opens the project.
func (p *pipe) connect() {
	p.t.Helper()
	p.host = exec.CommandContext(p.ctx, p.user.Product.Host, "stdio", "--solo", "--data-dir", p.user.DataDir)
	p.host.Dir, p.host.Env = p.project, p.user.Home.Env(p.project, "MAGICCTX_TEST_CLOCK="+p.clock())
	in, err := p.host.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.host.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.host.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.told = make(chan string, 10)
	p.client = rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{out, in}, p.handle, nil)
	p.call(schema.MethodInitialize, schema.InitializeParams{
		Protocol: schema.Version{Major: schema.ProtocolMajor}, Client: "test", Harness: schema.HarnessOpenCode, Directory: p.project,
	}, nil)
	p.command("--dry-run") // it waits until the host knows the project
}

// handle answers the calls of the host.
func (p *pipe) handle(_ context.Context, method string, params json.Value) (any, error) {
	switch method {
	case schema.MethodModelLimits:
		return schema.ModelLimits{ContextTokens: 200_000, NPM: "@ai-sdk/anthropic", Price: sonnet}, nil
	case schema.MethodNotifyShow:
		var n schema.NotifyShowParams
		if err := json.Unmarshal(params, &n); err != nil {
			return nil, err
		}
		p.told <- n.Message
		return schema.Empty{}, nil
	case schema.MethodAgentRun:
		var q schema.AgentRunParams
		if err := json.Unmarshal(params, &q); err != nil {
			return nil, err
		}
		text, isKilled := p.answer(q.System, q.Prompt)
		if isKilled {
			return nil, io.ErrUnexpectedEOF
		}
		u := usage{input: tokens.Count(q.System) + tokens.Count(q.Prompt), output: tokens.Count(text)}
		return schema.AgentRunResult{Answers: []json.Value{json.Value(answerOf("answer", text, u))}}, nil
	}
	return schema.Empty{}, nil
}

// answerOf returns an answer in OpenCode's format.
func answerOf(id, text string, u usage) string {
	return fmt.Sprintf(`{"info":{"id":%q,"role":"assistant","providerID":"anthropic","modelID":"claude-sonnet-4-5","finish":"stop",`+
		`"tokens":{"input":%d,"output":%d,"cache":{"read":%d,"write":%d}}},"parts":[{"id":"p-%s","type":"text","text":%s}]}`,
		id, u.input, u.output, u.read, u.write, id, json.Quote(text))
}

func (p *pipe) call(method string, params, result any) {
	p.t.Helper()
	if err := p.client.Call(p.ctx, method, params, result); err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
}

func (p *pipe) command(arguments string) (said schema.CommandExecuteResult) {
	p.t.Helper()
	p.call(schema.MethodCommandExecute, schema.CommandExecuteParams{Session: p.session, Directory: p.project, Command: "ctx-dream", Arguments: arguments}, &said)
	return said
}

// visit plays a session of ten requests, as long as those of a usual turn.
func (p *pipe) visit(project string, calls ...map[string]any) (first string) {
	p.t.Helper()
	p.leave()
	p.sessions++
	p.project, p.session, p.messages = project, fmt.Sprint("ses_week", p.sessions), nil
	p.connect()
	p.messages = append(p.messages, fmt.Sprintf(
		`{"info":{"id":"msg_0","sessionID":%q,"role":"user","time":{"created":1},"model":{"providerID":"anthropic","modelID":"claude-sonnet-4-5"}},"parts":[{"id":"p0","type":"text","text":"Go on."}]}`, p.session))
	for i := range 10 {
		var m schema.WireMutation
		params := schema.TransformParams{Session: p.session, Directory: p.project}
		array := []byte("[" + strings.Join(p.messages, ",") + "]")
		if err := p.client.CallWithAttachment(p.ctx, schema.MethodTransform, params, array, &m); err != nil {
			p.t.Fatal(err)
		}
		if i == 0 {
			for _, message := range m.Head {
				first += string(message)
			}
			first += p.messages[0]
		}
		if i < len(calls) {
			args, err := json.Marshal(calls[i])
			if err != nil {
				p.t.Fatal(err)
			}
			var r schema.ToolExecuteResult
			p.call(schema.MethodToolExecute, schema.ToolExecuteParams{Session: p.session, Directory: p.project, Tool: "ctx_memory", CallID: fmt.Sprint("call_", i), Args: args}, &r)
			if !strings.HasPrefix(r.Output, "Saved") {
				p.t.Fatalf("ctx_memory says %q", r.Output)
			}
		}
		u := usage{input: 200, output: 300, read: 30_000 + 2_000*i, write: 1_800}
		p.used = append(p.used, u)
		p.messages = append(p.messages, answerOf(fmt.Sprint("msg_", i+1), "Done.", u))
	}
	return first
}

func (p *pipe) dream() {
	p.t.Helper()
	p.command("")
	select {
	case <-p.told:
	case <-p.client.Done():
		_ = p.host.Wait()
		p.connect()
		if said := p.command(""); !strings.Contains(said.Message, "goes on with the run that was interrupted") {
			p.t.Errorf("after the crash: %q", said.Message)
		}
		<-p.told
	case <-time.After(time.Minute):
		p.t.Fatal("the run has not ended")
	}
}

func (p *pipe) leave() {
	p.t.Helper()
	if p.client == nil {
		return
	}
	if err := p.client.Close(p.ctx); err != nil {
		p.t.Error(err)
	}
	if err := p.host.Wait(); err != nil {
		p.t.Errorf("the host has ended: %v", err)
	}
	p.client = nil
}

func (p *pipe) kill() { _ = p.host.Process.Signal(os.Kill) }
