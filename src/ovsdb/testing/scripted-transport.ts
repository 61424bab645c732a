import { duplexPair, type Duplex } from 'node:stream';
import { stringify } from '../data/json.ts';
import type { JsonObject, JsonValue } from '../data/value.ts';
import { Framer } from '../wire/framer.ts';
import { parseJsonText } from '../wire/json-text.ts';
import type { OpenSocket } from '../session/transport.ts';

/** The server's end of a connection that only exists in memory. */
export interface ScriptedPeer {
  /** Sends messages to the client, all in one piece. */
  send(...messages: readonly JsonValue[]): void;
  /** Sends bytes as they are: parts of messages, or what is none. */
  sendBytes(bytes: Uint8Array | string): void;
  /** Ends the connection. */
  hangUp(): void;
}

/** What a scripted server does. */
export interface ScriptedServer {
  /** A connection was opened, the first or one more. */
  connected?(peer: ScriptedPeer): void;
  /** The client sent a request, a notification or a reply. */
  message(message: JsonObject, peer: ScriptedPeer): void;
}

class Peer implements ScriptedPeer {
  readonly #end: Duplex;

  constructor(end: Duplex) {
    this.#end = end;
  }

  send(...messages: readonly JsonValue[]): void {
    this.sendBytes(messages.map(stringify).join(''));
  }

  sendBytes(bytes: Uint8Array | string): void {
    if (this.#end.writable) this.#end.write(bytes);
  }

  hangUp(): void {
    this.#end.end();
  }
}

/**
 * A transport for `openSocket` whose server is a script: for tests of programs that use the client, and to play recorded
 * sessions. Nothing leaves the process; every remote leads to the script. Throws in the stream when the client sends no JSON.
 */
export const scriptedTransport =
  (server: ScriptedServer): OpenSocket =>
  (_remote, _tls, handlers) => {
    const [ours, theirs] = duplexPair();
    const peer = new Peer(theirs);
    const framer = new Framer();
    theirs.on('data', (chunk: Buffer) => {
      for (const bytes of framer.push(chunk))
        server.message(parseJsonText(bytes) as JsonObject, peer);
    });
    // An end of either side is the end of both, as of a socket.
    ours.once('end', () => ours.destroy());
    ours.once('close', () => theirs.destroy());
    theirs.once('end', () => theirs.end());
    const opening = setImmediate(() => {
      handlers.opened(ours);
      server.connected?.(peer);
    });
    return {
      cancel() {
        clearImmediate(opening);
        ours.destroy();
      },
    };
  };
