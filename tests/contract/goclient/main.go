// Command goclient calls an extender as kube-scheduler's HTTPExtender does: one client,
// a POST per call, the answer decoded from the stream and then closed. It prints how
// many calls found an open connection. Standard library only.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"time"
)

func main() {
	url := flag.String("url", "", "verb to call, with user info and query")
	calls := flag.Int("calls", 600, "how many calls")
	flag.Parse()
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
	reused := 0
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if info.Reused {
			reused++
		}
	}}
	for range make([]struct{}, *calls) {
		if err := call(client, *url, body, trace); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(reused)
}

func call(client *http.Client, url string, body []byte, trace *httptrace.ClientTrace) error {
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("code %d", response.StatusCode)
	}
	var answer any
	return json.NewDecoder(response.Body).Decode(&answer)
}
