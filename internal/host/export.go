package host

import (
	"context"
	"fmt"

	"github.com/magicctx/magicctx-host/internal/client"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/pipeline"
	"github.com/magicctx/magicctx-host/pipeline/transcript"
	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store"
	"github.com/magicctx/magicctx-host/store/export"
)

// SessionExport returns all stored state that influences a session's next pass. Before its first pass, a fork has no
// rows of its own, and the pass will copy those of its original. So SessionExport also returns the original's rows.
func (h *Host) SessionExport(ctx context.Context, _ client.Client, p schema.SessionExportParams) (schema.SessionExport, error) {
	var none schema.SessionExport
	key := store.Key{Harness: string(p.Harness), Session: p.Session}
	sum, _, err := h.Store.Reports.Session(ctx, key)
	if err != nil {
		return none, err
	}
	keys := []store.Key{key}
	if sum.Passes == 0 && p.Parent == "" {
		original, err := h.originalOf(ctx, key, p)
		if err != nil {
			return none, err
		}
		keys = append(keys, original...)
	}
	tables, err := export.From(ctx, h.Store, keys...)
	if err != nil {
		return none, err
	}
	shared := h.clients.Config(key.Harness, p.Directory)
	shared.Embedding = schema.Embedding{} // it holds the user's API key, and no pass reads it
	config, err := json.Marshal(shared)
	if err != nil {
		return none, fmt.Errorf("configuration: %w", err)
	}
	exported, err := exportedTables(tables)
	return schema.SessionExport{Config: config, Passes: sum.Passes, Tables: exported}, err
}

// originalOf returns the session whose messages a fork begins with. If key is no fork, originalOf returns nothing.
func (h *Host) originalOf(ctx context.Context, key store.Key, p schema.SessionExportParams) ([]store.Key, error) {
	codec, err := client.CodecOf(key.Harness)
	if err != nil {
		return nil, err
	}
	var messages []json.Value
	if err := json.Unmarshal(p.Messages, &messages); err != nil {
		return nil, client.Invalid("attachment of %s: %v", schema.MethodSessionExport, err)
	}
	if err := transcript.CheckSize(0, messages); err != nil {
		return nil, client.Invalid("%v", err)
	}
	if len(messages) < 2 {
		return nil, nil
	}
	original, copied, err := h.sessions.Original(ctx, key, p.Original, p.Directory, pipeline.OutlineOf(codec, messages))
	if err != nil || len(copied.Units) == 0 {
		return nil, err
	}
	return []store.Key{original.Session.Key}, nil
}

func exportedTables(tables []export.Table) ([]schema.ExportedTable, error) {
	all := make([]schema.ExportedTable, len(tables))
	for i, t := range tables {
		all[i] = schema.ExportedTable{Name: t.Name, Columns: t.Columns, Rows: make([][]json.Value, len(t.Rows))}
		for j, row := range t.Rows {
			all[i].Rows[j] = make([]json.Value, len(row))
			for k, value := range row {
				raw, err := json.Marshal(value)
				if err != nil {
					return nil, fmt.Errorf("table %s: %w", t.Name, err)
				}
				all[i].Rows[j][k] = raw
			}
		}
	}
	return all, nil
}
