// Package controllerruntime runs programs that were written for client-go on the facades: controller-runtime with our informers
// in its cache and our queue in its controllers, and the sample-controller with its imports changed. It is a module of its own,
// so that the main one needs neither.
package controllerruntime
