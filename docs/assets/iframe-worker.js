// Browsers refuse to start a Worker on a page opened from disk (file:). This runs the site's search in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.frame = document.body.appendChild(document.createElement("iframe"));
      this.frame.hidden = true;
      this.inside = this.frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== this.inside) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.loaded = this.load(url);
    }

    async load(url) {
      const load = (address) =>
        new Promise((resolve, reject) => {
          const script = this.frame.contentDocument.createElement("script");
          Object.assign(script, { src: new URL(address, document.baseURI).href, onload: resolve, onerror: reject });
          this.frame.contentDocument.body.appendChild(script);
        });
      this.frame.contentDocument.open();
      this.frame.contentDocument.write("<script>postMessage = (data) => parent.dispatchEvent(new parent.MessageEvent('message', { data, source: window }));<\/script><body>");
      this.frame.contentDocument.close();
      this.inside.importScripts = (...addresses) => addresses.reduce((before, next) => before.then(() => load(next)), Promise.resolve());
      await load(url);
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
