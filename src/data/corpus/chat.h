#pragma once

#include <stddef.h>

/*
 * chat - the messages of a conversation
 *
 * chat_scan() reads a JSON array of messages, and replaces it by the text
 *
 *      ROLE NUL CONTENT NUL ROLE NUL CONTENT NUL ...
 *
 * in its place.  A message is an object with the strings "role" and "content"
 * (OpenAI's form), or "from" and "value" (ShareGPT's); other members are
 * ignored.  A role becomes "system", "user", "assistant" or "tool", whatever
 * the form calls it.  Returns -1 as json_scan_string() does.
 */
struct json_scan;
int chat_scan(struct json_scan *, char **text, size_t *len);
