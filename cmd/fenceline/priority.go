package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/alecthomas/kong"
)

// priority is a number that may be negative: "--priority -5" is no flag -5.
type priority int16

// Decode reads a flag.
func (p *priority) Decode(ctx *kong.DecodeContext) error {
	token := ctx.Scan.Pop()
	if token.IsEOL() {
		return errors.New("a whole number must follow")
	}
	text := token.String()
	n, err := strconv.ParseInt(text, 10, 16)
	if err != nil {
		return fmt.Errorf("%q must be a whole number between %d and %d", text, math.MinInt16, math.MaxInt16)
	}
	*p = priority(n)
	return nil
}
