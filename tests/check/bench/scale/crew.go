package main

import (
	"errors"
	"fmt"
)

// crew is the measured processes of a setup.
type crew []*child

// all gives all of the crew an order at once, and returns their answers.
func all[T any](crew crew, do string) ([]T, error) {
	for i, c := range crew {
		if err := c.tell(do); err != nil {
			return nil, fmt.Errorf("process %d: %s: %w", i, do, err)
		}
	}
	answers := make([]T, len(crew))
	for i, c := range crew {
		if err := c.hear(&answers[i]); err != nil {
			return nil, fmt.Errorf("process %d: %s: %w", i, do, err)
		}
	}
	return answers, nil
}

// figuresOf asks the server first, and then all of the crew.
func figuresOf(server *child, crew crew) (of []memberFigures, ofServer serverFigures, err error) {
	if err := server.ask("usage", &ofServer); err != nil {
		return nil, ofServer, err
	}
	of, err = all[memberFigures](crew, "usage")
	return of, ofServer, err
}

func (c crew) end() (err error) {
	for _, child := range c {
		err = errors.Join(err, child.end())
	}
	return err
}

func (c crew) kill() (err error) {
	for _, child := range c {
		err = errors.Join(err, child.kill())
	}
	return err
}
