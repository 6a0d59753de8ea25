package opencode2

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/magicctx/magicctx-host/internal/json"
)

type Session struct {
	server *Server
	ID     string `json:"id"`
}

type Message struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Text    string     `json:"text"`
	Summary string     `json:"summary"`
	Status  string     `json:"status"`
	Content []Part     `json:"content"`
	Error   json.Value `json:"error"`
}

type Part struct {
	Type  string     `json:"type"`
	Text  string     `json:"text"`
	Name  string     `json:"name"`
	State json.Value `json:"state"`
}

// The model is named "provider/model".
func (s *Server) Create(ctx context.Context, model string) (*Session, error) {
	created := &Session{server: s}
	in := object{"title": "a session", "location": object{"directory": s.project}, "model": ref(model)}
	return created, s.Call(ctx, http.MethodPost, "/api/session", in, created)
}

func ref(model string) object {
	provider, id, _ := strings.Cut(model, "/")
	return object{"providerID": provider, "id": id}
}

// Rename gives the session a title.
func (s *Session) Rename(ctx context.Context, title string) error {
	return s.post(ctx, "rename", object{"title": title}, nil)
}

func (s *Server) Open(id string) *Session { return &Session{s, id} }

func (s *Session) post(ctx context.Context, what string, in, out any) error {
	return s.server.Call(ctx, http.MethodPost, "/api/session/"+s.ID+"/"+what, in, out)
}

// Err returns the error that OpenCode has stored with the message. It is nil if there is none.
func (m Message) Err() error {
	if len(m.Error) == 0 {
		return nil
	}
	return fmt.Errorf("the message has the error %s", m.Error)
}

// Send sends a prompt, and does not wait for the answer. The beta expects the prompt in the member "prompt". The
// releases expect the fields of the prompt at the top level. So the request has both.
func (s *Session) Send(ctx context.Context, text string, more object) error {
	prompt := object{"text": text}
	for name, v := range more {
		prompt[name] = v
	}
	in := object{"prompt": prompt}
	for name, v := range prompt {
		in[name] = v
	}
	return s.post(ctx, "prompt", in, nil)
}

func (s *Session) Wait(ctx context.Context) error { return s.post(ctx, "wait", object{}, nil) }

func (s *Session) Prompt(ctx context.Context, text string) error {
	if err := s.Send(ctx, text, nil); err != nil {
		return err
	}
	return s.Wait(ctx)
}

func (s *Session) Messages(ctx context.Context) (all []Message, err error) {
	const most = 200 // the largest page
	for query := fmt.Sprintf("?order=asc&limit=%d", most); ; {
		path := "/api/session/" + s.ID + "/message" + query
		raw, err := s.server.request(ctx, http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data   []Message `json:"data"`
			Cursor struct {
				Next string `json:"next"`
			} `json:"cursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, page.Data...)
		if len(page.Data) < most {
			return all, nil
		}
		query = fmt.Sprintf("?limit=%d&cursor=%s", most, url.QueryEscape(page.Cursor.Next))
	}
}

func (s *Session) Newest(ctx context.Context) (m Message, err error) {
	var all []Message
	if err := s.server.Call(ctx, http.MethodGet, "/api/session/"+s.ID+"/message?order=desc&limit=1", nil, &all); err != nil || len(all) == 0 {
		return m, err
	}
	return all[0], nil
}

func (s *Session) Interrupt(ctx context.Context) error {
	return s.post(ctx, "interrupt", object{}, nil)
}

// Revert removes the message and all later messages. Until the next prompt, the user could still undo this.
func (s *Session) Revert(ctx context.Context, message string) error {
	return s.post(ctx, "revert/stage", object{"messageID": message}, nil)
}

// Fork copies all messages before the given message. If message is empty, it copies all messages.
func (s *Session) Fork(ctx context.Context, message string) (*Session, error) {
	in := object{}
	if message != "" {
		in["messageID"] = message
	}
	copied := &Session{server: s.server}
	return copied, s.post(ctx, "fork", in, copied)
}

func (s *Session) Switch(ctx context.Context, model string) error {
	return s.post(ctx, "model", object{"model": ref(model)}, nil)
}

func (s *Session) Compact(ctx context.Context) error { return s.post(ctx, "compact", object{}, nil) }

func (s *Session) Shell(ctx context.Context, command string) error {
	return s.post(ctx, "shell", object{"command": command}, nil)
}

func (s *Session) Synthetic(ctx context.Context, text string) error {
	return s.post(ctx, "synthetic", object{"text": text, "resume": false}, nil)
}
