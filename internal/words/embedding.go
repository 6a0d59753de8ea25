package words

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/format"
	"github.com/magicctx/magicctx-host/schema"
)

func Embedding(st *schema.EmbeddingStatus) string {
	if st.Model == "" {
		return "no texts have vectors: " + format.Clean(st.Problem)
	}
	text := fmt.Sprintf("%s have vectors of %s", format.Count(st.Texts, "text"), format.Clean(st.Model))
	if st.Waiting > 0 {
		text += fmt.Sprintf(", %d wait for one", st.Waiting)
	}
	if st.Problem != "" {
		text += ": " + format.Clean(st.Problem)
	}
	return text
}
