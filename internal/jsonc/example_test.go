package jsonc_test

import (
	"fmt"

	"github.com/magicctx/magicctx-host/internal/jsonc"
)

func Example() {
	file, err := jsonc.Parse([]byte(`{
		"protected_tags": 30, // more than usual
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	file.Standardize() // without comments and trailing commas, so that any JSON parser takes it
	file.Minimize()
	fmt.Println(file)
	// Output: {"protected_tags":30}
}
