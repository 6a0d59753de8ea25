package dashboard

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/internal/json"
	"github.com/magicctx/magicctx-host/internal/words"
	"github.com/magicctx/magicctx-host/schema"
)

type keptPiece struct {
	Tag    int    `json:"tag"`
	Name   string `json:"name"` // for example "§12§ read src/main.go"
	Tokens string `json:"tokens"`
	State  string `json:"state"`
}

func keptPieces(units []schema.KeptUnit) []keptPiece {
	all := make([]keptPiece, len(units))
	for i, u := range units {
		all[i] = keptPiece{u.Tag, format.Piece(u.Tag, cmp.Or(u.Tool, u.Kind), u.About), format.Tokens(u.Tokens), words.Kept(u)}
	}
	return all
}

// keep returns all pieces that the user then keeps.
func (p *pages) keep(r *http.Request) ([]keptPiece, error) {
	var wish schema.KeepParams
	if err := json.UnmarshalRead(r.Body, &wish); err != nil {
		return nil, fmt.Errorf("read the number of the piece: %w", err)
	}
	kept, err := p.Keep(r.Context(), wish)
	return keptPieces(kept.KeptUnits), err
}
