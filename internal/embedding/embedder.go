package embedding

import (
	"context"
	"errors"
	"time"

	"github.com/magicctx/magicctx-host/schema"
	"github.com/magicctx/magicctx-host/store/index"
)

type Embedder struct {
	Dir    string
	Source *Source
	// After each batch, the embedder waits Share times as long as storing the batch took, so that it writes to the
	// index only a small part of the time.
	Share int
}

// Run gives vectors to the texts that have none, and calls `progress` after each batch. After an error, the next run
// continues at the same text. If no service is configured, Run does nothing.
func (e *Embedder) Run(ctx context.Context, progress func(done int)) (err error) {
	service, err := e.Source.Service()
	if service == nil {
		return err
	}
	db, err := index.Open(ctx, e.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for done := 0; ; {
		var texts []index.Waiting
		err := db.View(ctx, func(v *index.View) (err error) {
			texts, err = v.Waiting(service.Space(), maxBatch)
			return err
		})
		if err != nil || len(texts) == 0 {
			return err
		}
		vectors, refused, err := embed(ctx, service, texts)
		if err != nil {
			return err
		}
		started := time.Now()
		if err := db.Update(ctx, func(tx *index.Tx) error { return tx.PutVectors(service.Space(), texts, vectors) }); err != nil {
			return err
		}
		if refused != nil {
			return refused
		}
		done += len(texts)
		progress(done)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(e.Share) * time.Since(started)):
		}
	}
}

// embed returns the vectors of a batch of texts. If the service refuses the batch, embed sends each text alone. A text
// that is refused again gets no vector. But if the service refuses every text, the texts are probably not the reason,
// so embed fails. A batch of only one text is not sent again: the text gets no vector, and `refused` is the service's
// error.
func embed(ctx context.Context, service *Service, texts []index.Waiting) (vectors [][]float32, refused, err error) {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = t.Text
	}
	vectors, err = service.EmbedPatiently(ctx, all)
	if !isAboutTexts(err) {
		return vectors, nil, err
	}
	if len(all) == 1 {
		return make([][]float32, 1), err, nil
	}
	vectors, isAccepted := make([][]float32, len(all)), false
	for i := range all {
		one, oneErr := service.EmbedPatiently(ctx, all[i:i+1])
		switch {
		case oneErr == nil:
			vectors[i], isAccepted = one[0], true
		case !isAboutTexts(oneErr):
			return nil, nil, oneErr
		}
	}
	if !isAccepted {
		return nil, nil, err
	}
	return vectors, nil, nil
}

func isAboutTexts(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.IsAboutTexts()
}

func (e *Embedder) Status(ctx context.Context) *schema.EmbeddingStatus {
	service, err := e.Source.Service()
	if err != nil {
		return &schema.EmbeddingStatus{Problem: err.Error()}
	}
	if service == nil {
		return nil
	}
	st := &schema.EmbeddingStatus{Model: service.Model()}
	x, err := index.OpenReadOnly(ctx, e.Dir)
	if err == nil {
		err = errors.Join(x.View(ctx, func(v *index.View) error {
			st.Texts, st.Waiting, err = v.Vectors(service.Space())
			return err
		}), x.Close())
	}
	if err != nil && !errors.Is(err, index.ErrMissing) {
		st.Problem = err.Error()
	}
	return st
}
