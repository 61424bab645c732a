/** Announcements of the kernel about the network stack, as what has to be read again, for whoever follows them. After a loss, and after the monitor had to begin anew, that is everything. */
import {
  links,
  NetlinkMonitor,
  type Neighbour,
  readRouteEvent,
  ROUTE_GROUP,
  type NetlinkMessage,
  type Route,
  type RouteEvent,
} from 'rtnetlink-ts';
import { errorText } from '../../api/error-text.ts';
import { openRouteSocket, withNamespace } from './network-socket.ts';
import { PROTOCOL } from '../numbers.ts';
import { staleAfter, type Stale } from './stale.ts';

/** Bytes of the socket's buffer. */
const RECEIVE_BUFFER = 16 * 1024 * 1024;
const GROUPS = Object.values(ROUTE_GROUP);
/** Milliseconds until a monitor that ended is begun anew. */
const RESTART_AFTER = 1000;

export interface NetworkMonitorOptions {
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace?: string | undefined;
  /** Called with what went wrong: a loss, an end. */
  readonly onTrouble?: (text: string) => void;
}

export interface NetworkFollower {
  /** `port`: of the socket that asked for the change; 0 for none. */
  readonly onStale: (stale: Stale, port: number) => void;
  /** Called with each route that comes or goes, whoever made it. */
  readonly onRoute?: (route: Route) => void;
  /** Called with each neighbour of which something is new. */
  readonly onNeighbour?: (neighbour: Neighbour) => void;
}

export class NetworkMonitor implements Disposable {
  readonly #options: NetworkMonitorOptions;
  /** Devices by their numbers, as announcements name them. */
  readonly #names = new Map<number, string>();
  readonly #followers = new Set<NetworkFollower>();
  #monitor: NetlinkMonitor | undefined;
  #restart: NodeJS.Timeout | undefined;
  #losses = 0;

  constructor(options: NetworkMonitorOptions = {}) {
    this.#options = options;
  }

  /** How often events were lost. */
  get losses(): number {
    return this.#losses;
  }

  /** Calls the follower from the first `listen` on. Returns what ends that. */
  follow(follower: NetworkFollower): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Subscribed when it returns: what happens from then on is not missed. Throws NetlinkError; the next call tries again. */
  listen(): void {
    if (this.#monitor !== undefined) return;
    try {
      this.#start();
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #start(): void {
    withNamespace(this.#options.namespace, (namespace) => {
      this.#monitor = new NetlinkMonitor({
        protocol: 'route',
        groups: GROUPS,
        ...namespace,
        receiveBuffer: RECEIVE_BUFFER,
        onMessage: (message) => this.#take(message),
        onLost: (error) => {
          this.#losses += 1;
          this.#trouble(`events of the kernel were lost: ${errorText(error)}`);
          this.#orAgain(() => this.#forget());
        },
        onEnd: (error) => this.#beginAgain(error),
      });
    });
    this.#forget();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#restart);
    this.#monitor?.[Symbol.dispose]();
    this.#monitor = undefined;
  }

  #take(message: NetlinkMessage): void {
    let event: RouteEvent | undefined;
    try {
      event = readRouteEvent(message);
    } catch (error) {
      this.#trouble(`an announcement of the kernel can't be read: ${errorText(error)}`);
      this.#stale({ kind: 'all' });
      return;
    }
    if (event === undefined) return;
    if (event.kind === 'link' && !event.isGone) this.#names.set(event.link.index, event.link.name);
    const stale = staleAfter(event, PROTOCOL, this.#names);
    if (event.kind === 'link' && event.isGone) this.#names.delete(event.link.index);
    if (stale !== undefined) this.#stale(stale, message.port);
    for (const { onRoute, onNeighbour } of this.#followers)
      if (event.kind === 'route') onRoute?.(event.route);
      else if (event.kind === 'neighbour') onNeighbour?.(event.neighbour);
  }

  /** Nothing is known any more, but names of devices. */
  #forget(): void {
    using socket = openRouteSocket(this.#options.namespace);
    const all = socket.dump(links());
    this.#names.clear();
    for (const { index, name } of all) this.#names.set(index, name);
    this.#stale({ kind: 'all' });
  }

  #stale(stale: Stale, port = 0): void {
    for (const { onStale } of this.#followers) onStale(stale, port);
  }

  #orAgain(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#beginAgain(error);
    }
  }

  #beginAgain(error: unknown): void {
    this.#trouble(`changes of the network stack are not announced: ${errorText(error)}`);
    this.#monitor?.[Symbol.dispose]();
    clearTimeout(this.#restart);
    this.#restart = setTimeout(() => this.#orAgain(() => this.#start()), RESTART_AFTER).unref();
  }

  #trouble(text: string): void {
    this.#options.onTrouble?.(text);
  }
}
