// The article's API: each answer takes 200 ms; `/` may not be stored, `/cache` for five seconds.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"
)

func allowCache(seconds int) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, fmt.Sprintf("public, max-age=%d", seconds))
		return c.Next()
	}
}

func answer(c *fiber.Ctx) error {
	// A call of a database.
	time.Sleep(200 * time.Millisecond)
	return c.JSON(fiber.Map{"result": "ok"})
}

func main() {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderCacheControl, "no-store")
		return c.Next()
	})
	app.Get("/", answer)
	app.Get("/cache", allowCache(5), answer)
	log.Fatal(app.Listen(os.Args[1]))
}
