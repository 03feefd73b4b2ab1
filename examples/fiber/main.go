// An API that lets one of its answers be five seconds old. Larder before it does the rest.
package main

import (
	"flag"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Nothing is kept unless a route allows it.
func noStore(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.Next()
}

// allowCache lets Larder and browsers keep the answer for so many seconds.
func allowCache(seconds int) fiber.Handler {
	lifetime := fmt.Sprintf("public, max-age=%d", seconds)
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, lifetime)
		return c.Next()
	}
}

// tagged gives the answer a name by which it can be purged.
func tagged(tag string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set("Cache-Tag", tag)
		return c.Next()
	}
}

// The work takes a fifth of a second, as a database would.
func result(c *fiber.Ctx) error {
	time.Sleep(200 * time.Millisecond)
	return c.JSON(fiber.Map{"result": "ok", "at": time.Now().UnixNano()})
}

func main() {
	listen := flag.String("listen", "127.0.0.1:5001", "address to listen on")
	flag.Parse()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})

	// What the gain is measured by: requests that reached the application.
	var requests atomic.Int64
	app.Get("/requests", noStore, func(c *fiber.Ctx) error {
		return c.SendString(fmt.Sprint(requests.Load()))
	})
	app.Use(func(c *fiber.Ctx) error {
		requests.Add(1)
		return c.Next()
	})

	app.Use(noStore)
	app.Get("/", result)
	app.Get("/cache", allowCache(5), result)
	app.Get("/report", allowCache(3600), tagged("report"), result)
	log.Fatal(app.Listen(*listen))
}
