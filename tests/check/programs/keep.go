package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// conditions are the first line of the file of -keep. Figures of other conditions are not to be compared.
type conditions struct {
	Load   load
	Lasts  time.Duration
	Binary string // the digest of the programs' contents, which a build of the same source does not change
}

func (c *campaign) conditions() (conditions, error) {
	file, err := os.Open(c.binary)
	if err != nil {
		return conditions{}, err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return conditions{}, err
	}
	return conditions{c.options.load, c.lasts, hex.EncodeToString(digest.Sum(nil))}, nil
}

// resume reads what was measured earlier, and refuses what was measured under other conditions.
func (c *campaign) resume() error {
	if c.keep == "" {
		return nil
	}
	now, err := c.conditions()
	if err != nil {
		return err
	}
	file, err := os.Open(c.keep)
	if errors.Is(err, fs.ErrNotExist) {
		return c.append(now)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	decoder.DisallowUnknownFields() // a result is not taken for conditions
	var then conditions
	if err := decoder.Decode(&then); err != nil {
		return fmt.Errorf("%s: its first line is to hold load, duration and binary: %w", c.keep, err)
	}
	if then != now {
		return fmt.Errorf("%s holds figures of other conditions: %+v, and these are %+v", c.keep, then, now)
	}
	for decoder.More() {
		var r result
		if err := decoder.Decode(&r); err != nil {
			return fmt.Errorf("%s: %w", c.keep, err)
		}
		c.results = append(c.results, r)
	}
	return nil
}

func (c *campaign) add(r result) error {
	c.results = append(c.results, r)
	if c.keep == "" {
		return nil
	}
	return c.append(r)
}

// append writes a line to the file of -keep.
func (c *campaign) append(line any) error {
	file, err := os.OpenFile(c.keep, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(file).Encode(line), file.Close())
}
