// Package sharedinformer is the fan-out: one reflector, one queue and one store per resource, and any number of handlers.
package sharedinformer
