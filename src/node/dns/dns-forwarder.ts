/**
 * Forwards what pods ask the cluster's DNS service while rules of EgressFirewalls have names, on the default network and on primary ones
 * (decisions/firewall-names.md).
 * What an answer says of such a name is in the data plane before the pod has the answer. Bytes pass as they are, but of names of networks that ask for
 * it the node answers itself (decisions/network-names.md).
 */
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { FAMILIES } from '../../allocators/addresses.ts';
import { errorText } from '../../api/error-text.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { DNS_PORT, dnsForwarderAddress } from '../../model/rules/dns-forwarding.ts';
import type { DnsForwarding, ForwardedDns } from '../../model/zone/dns-forwarding.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { pause, systemClock, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { deviceSocket } from 'rtnetlink-ts';
import { linkOf, openRouteSocket } from '../linux/network-socket.ts';
import type { FactSource } from '../fact-source.ts';
import { managementDevice } from '../names.ts';
import { MARK_DNS } from '../numbers.ts';
import { failureFor, readAnswered, readQuestion } from './dns-message.ts';
import { DnsRelay, type Protocol } from './dns-relay.ts';
import { DnsStream } from './dns-stream.ts';
import type { NameSource } from './name-source.ts';
import { NetworkAnswers, type AnsweredBy } from './network-answers.ts';
import { QuestionLimits } from './question-limits.ts';

/** For metrics. */
export interface DnsEvents {
  /** A question was answered, `failed` where nobody did; or not taken, as there were too many. */
  readonly onQuestion: (protocol: Protocol, outcome: 'answered' | 'failed' | 'refused') => void;
  /** An answer was held back for so many milliseconds; `isInForce` false where it was not given at all. */
  readonly onHeld: (milliseconds: number, isInForce: boolean) => void;
  /** A pod of a network whose names the node answers was told what the node knows, what the cluster's DNS says, or that there is nothing. */
  readonly onNamed: (by: AnsweredBy) => void;
}

export interface DnsForwarderOptions {
  readonly node: string;
  readonly names: Pick<NameSource, 'rulesAbout' | 'told' | 'installations'>;
  readonly log: Log;
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
  readonly events?: DnsEvents;
  readonly relay?: DnsRelay;
}

/** Milliseconds between two looks at what is wanted and whether endpoints answer. */
const INTERVAL = 500;
/** Milliseconds until it is looked again whether the device of a network is the one that is listened on; and how many are looked at without a pause. */
const LOOKED_AGAIN = 5_000;
const LOOKED_AT_ONCE = 20;
/** An answer that is not in force after this time is not given: the pod's resolver asks again. */
const LONGEST_HOLD = 3_000;
/**
 * Bytes of questions over UDP that wait while this thread is at something else; the kernel takes 768 and more for each, and gives no more than
 * twice net.core.rmem_max. Its own 208 KiB are 270 questions.
 */
const RECEIVE_BUFFER = 2 ** 20;
/** Questions without an answer after which it is looked whether endpoints can be reached at all. */
const SUSPICIOUS = 5;
/** Tries to listen, in turns of the interval, before pods are sent to the endpoints again. */
const PATIENCE = 10;
/** Connections of pods at once, in all and of one address; milliseconds for which one may rest. */
const MOST_CONNECTIONS = 512;
const MOST_OF_ONE = 32;
const LONGEST_REST = 10_000;
/** All pods of a primary network have one address here, and together the share of so many pods. */
const SHARE_OF_NETWORK = 5;

/** What that means. */
const WITHOUT =
  "so names in EgressFirewalls are what the daemon's own resolver is told, wildcards nobody, and names of networks what the cluster's DNS says";

/** The name servers of the root: whoever serves DNS answers something. */
const PROBE = Buffer.from('7a7a010000010000000000000000020001', 'hex');

interface Open {
  readonly at: Listening;
  readonly close: () => void;
}

/** Where it listens: at the address of a way, or by the host's port on a primary network at the service's own. */
interface Listening extends ForwardedDns {
  /** `index` is another one once the device was made anew, which sockets don't hear. */
  readonly by?: { readonly id: number; readonly device: string; readonly index: number };
}

const keyOf = ({ protocol, address, port, by }: Listening): string =>
  `${protocol} ${address} ${port}${by === undefined ? '' : ` ${by.device} ${by.index}`}`;

const shareOf = ({ by }: Listening): number => (by === undefined ? 1 : SHARE_OF_NETWORK);

/** Where a socket of Node.js is to be bound, or one that is bound. */
function placeOf({ family, address, port, by }: Listening, type: 'datagram' | 'stream') {
  return by === undefined
    ? { address, host: address, port, exclusive: true }
    : { fd: deviceSocket({ family, type, address, port, device: by.device, mark: MARK_DNS }) };
}

export class DnsForwarder implements FactSource {
  readonly #options: DnsForwarderOptions;
  readonly #relay: DnsRelay;
  readonly #limits = new QuestionLimits();
  readonly #names = new NetworkAnswers();
  readonly #open = new Map<string, Open>();
  readonly #connections = new Map<string, number>();
  #facts: ZoneFacts | undefined;
  #clock: Clock = systemClock;
  #signal: AbortSignal = AbortSignal.abort();
  #problem: string | undefined;
  #unanswered = 0;
  #failures = 0;
  #failuresOnNetworks = 0;
  /** By id of a network the index of its device, and when that was looked at. */
  readonly #devices = new Map<number, { readonly index: number; readonly at: number }>();

  constructor(options: DnsForwarderOptions) {
    this.#options = options;
    this.#relay = options.relay ?? new DnsRelay();
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    this.#facts = facts;
    this.#clock = clock;
    this.#signal = signal;
    // Where the process before us listened pods go on as they are: until this one listens the host sends them to the endpoints.
    const own = new Set(
      Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address)),
    );
    const addresses = FAMILIES.map((family) => dnsForwarderAddress(facts.settings, family));
    if (addresses.some((address) => address !== undefined && own.has(address))) this.#say(true);
    while (!signal.aborted) {
      await this.#look();
      await pause(clock, INTERVAL, signal);
    }
    this.#closeAll();
  }

  problems(): readonly ZoneProblem[] {
    return this.#problem === undefined
      ? []
      : [{ object: `Node ${this.#options.node}`, message: this.#problem }];
  }

  async #look(): Promise<void> {
    const forwarding = this.#facts?.dnsForwarding.peek();
    if (forwarding === undefined) {
      if (this.#open.size > 0) {
        this.#closeAll();
        this.#say(false);
      }
      this.#tell(undefined);
      return;
    }
    const refused = await this.#listen(forwarding);
    if (refused !== undefined) {
      this.#failures += 1;
      if (this.#failures < PATIENCE) return;
      this.#say(false);
      this.#tell(`DNS of pods is not forwarded, ${WITHOUT}: ${refused}`);
      return;
    }
    this.#failures = 0;
    if (forwarding.isOpen && this.#unanswered < SUSPICIOUS)
      return this.#tell(await this.#listenOnNetworks(forwarding));
    const isReached = await this.#isReached(forwarding);
    if (!isReached) await this.#listenAt([], ({ by }) => by !== undefined);
    this.#unanswered = isReached ? 0 : SUSPICIOUS;
    this.#say(isReached);
    this.#tell(
      isReached
        ? undefined
        : `DNS of pods is not forwarded, as no endpoint of Service ${forwarding.service} answers this host, ${WITHOUT}: see whether the pods of DNS run, and whether a NetworkPolicy keeps nodes from them`,
    );
  }

  #say(isOpen: boolean): void {
    if (this.#facts?.dnsForwarders.put('host', isOpen ? { isOpen } : undefined) === true)
      this.#options.onChange();
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem !== undefined) this.#options.log.warn({}, problem);
    this.#options.onChange();
  }

  /** Returns why not everything can be listened at, if so. */
  #listen({ ways }: DnsForwarding): Promise<string | undefined> {
    return this.#listenAt(ways, ({ by }) => by === undefined);
  }

  /** Returns what is wrong with it. */
  async #listenOnNetworks(forwarding: DnsForwarding): Promise<string | undefined> {
    let refused: string | undefined;
    try {
      const wanted = await this.#onNetworks(forwarding);
      refused = await this.#listenAt(wanted, ({ by }) => by !== undefined);
    } catch (error) {
      refused = errorText(error);
    }
    this.#failuresOnNetworks = refused === undefined ? 0 : this.#failuresOnNetworks + 1;
    return refused === undefined || this.#failuresOnNetworks < PATIENCE
      ? undefined
      : `DNS of pods of a primary network is not forwarded, ${WITHOUT} there: ${refused}`;
  }

  /** Ways on networks whose devices are there. */
  async #onNetworks({ serviceWays, networks }: DnsForwarding): Promise<readonly Listening[]> {
    const wanted = new Set(networks);
    for (const id of this.#devices.keys()) if (!wanted.has(id)) this.#devices.delete(id);
    if (networks.length === 0) return [];
    using socket = openRouteSocket(undefined);
    const now = this.#clock.monotonic();
    let looked = 0;
    for (const id of networks) {
      const known = this.#devices.get(id);
      if (known !== undefined && now - known.at < LOOKED_AGAIN) continue;
      const index = linkOf(socket, managementDevice(id))?.index;
      if (index === undefined) this.#devices.delete(id);
      else this.#devices.set(id, { index, at: now });
      looked += 1;
      // Questions come in between.
      if (looked % LOOKED_AT_ONCE === 0) await setImmediate();
    }
    return networks.flatMap((id) => {
      const index = this.#devices.get(id)?.index;
      return index === undefined
        ? []
        : serviceWays.map((way) => ({
            ...way,
            address: way.clusterIp,
            port: DNS_PORT,
            by: { id, device: managementDevice(id), index },
          }));
    });
  }

  /** Closes what is like that and not wanted. Returns why not everything can be listened at, if so. */
  async #listenAt(
    listening: readonly Listening[],
    isLike: (listening: Listening) => boolean,
  ): Promise<string | undefined> {
    const wanted = new Map(listening.map((one) => [keyOf(one), one]));
    for (const [key, { close, at }] of this.#open)
      if (isLike(at) && !wanted.has(key)) {
        close();
        this.#open.delete(key);
      }
    let refused: string | undefined;
    for (const [key, at] of wanted) {
      if (this.#open.has(key)) continue;
      try {
        const close = await (at.protocol === 'UDP' ? this.#listenUdp(at) : this.#listenTcp(at));
        this.#open.set(key, { close, at });
      } catch (error) {
        refused ??= errorText(error);
      }
    }
    return refused;
  }

  #listenUdp(way: Listening): Promise<() => void> {
    const place = placeOf(way, 'datagram');
    const socket = createSocket({ type: way.family === 'v4' ? 'udp4' : 'udp6' });
    socket.on('message', (query, from) => void this.#answerUdp(socket, way, query, from));
    const close = (): void => void socket.close();
    return new Promise((resolve, reject) => {
      socket.once('error', (error) => {
        socket.close();
        reject(error);
      });
      socket.bind(place, () => {
        socket.removeAllListeners('error');
        socket.setRecvBufferSize(RECEIVE_BUFFER);
        // Of a single datagram that could not be sent: the pod is gone.
        socket.on('error', (error) => this.#options.log.debug({ error }, 'an answer was not sent'));
        resolve(close);
      });
    });
  }

  async #answerUdp(
    socket: UdpSocket,
    way: Listening,
    query: Buffer,
    { address, port }: RemoteInfo,
  ): Promise<void> {
    const answer = await this.#answer('UDP', way, query, address);
    if (answer !== undefined && this.#open.has(keyOf(way)))
      socket.send(answer, port, address, () => undefined);
  }

  async #answerTcp(socket: Socket, way: Listening, query: Buffer, address: string): Promise<void> {
    const answer = await this.#answer('TCP', way, query, address);
    if (answer === undefined) socket.destroy();
    else if (!socket.destroyed) socket.write(DnsStream.framed(answer));
  }

  #listenTcp(way: Listening): Promise<() => void> {
    const place = placeOf(way, 'stream');
    const most = MOST_OF_ONE * shareOf(way);
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      const address = socket.remoteAddress ?? '';
      const count = this.#connections.get(address) ?? 0;
      if (count >= most || sockets.size >= MOST_CONNECTIONS) {
        this.#options.events?.onQuestion('TCP', 'refused');
        socket.destroy();
        return;
      }
      this.#connections.set(address, count + 1);
      sockets.add(socket);
      socket.setTimeout(LONGEST_REST, () => socket.destroy());
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        const left = (this.#connections.get(address) ?? 1) - 1;
        if (left > 0) this.#connections.set(address, left);
        else this.#connections.delete(address);
      });
      const stream = new DnsStream((query) => {
        void this.#answerTcp(socket, way, query, address);
      });
      socket.on('data', (bytes) => stream.push(bytes));
    });
    const close = (): void => {
      server.close();
      for (const socket of sockets) socket.destroy();
    };
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(place, () => {
        server.removeAllListeners('error');
        server.on('error', (error) =>
          this.#options.log.debug({ error }, 'a connection was not taken'),
        );
        resolve(close);
      });
    });
  }

  /** Undefined for what is no question, and for one too many. */
  async #answer(
    protocol: Protocol,
    way: Listening,
    query: Buffer,
    from: string,
  ): Promise<Buffer | undefined> {
    const { events } = this.#options;
    if (query.length < 12) return undefined;
    if (!this.#limits.begin(from, performance.now(), shareOf(way))) {
      events?.onQuestion(protocol, 'refused');
      return undefined;
    }
    try {
      const answer = await this.#answerOf(protocol, way, query);
      events?.onQuestion(protocol, answer === undefined ? 'failed' : 'answered');
      return answer === undefined ? failureFor(query) : await this.#released(query, answer);
    } finally {
      this.#limits.ended(from);
    }
  }

  /** Of names of a network what the node knows, and of all else what an endpoint says; undefined where none does. */
  async #answerOf(protocol: Protocol, way: Listening, query: Buffer): Promise<Buffer | undefined> {
    const forwarding = this.#facts?.dnsForwarding.peek();
    // Endpoints are those of now, not of when it was listened first.
    const { endpoints } =
      forwarding?.serviceWays.find(({ vip, protocol: by }) => vip === way.vip && by === protocol) ??
      way;
    const askCluster = async (question: Buffer): Promise<Buffer | undefined> => {
      const answer = await this.#relay.ask(question, protocol, endpoints, this.#signal);
      this.#unanswered = answer === undefined ? this.#unanswered + 1 : 0;
      return answer;
    };
    const id = way.by?.id;
    if (id === undefined || forwarding?.named.includes(id) !== true) return askCluster(query);
    try {
      const view = this.#facts?.namesFrom(id);
      // The network goes at this very moment.
      if (view === undefined) return failureFor(query);
      const answer = await this.#names.answer(query, protocol, view, askCluster);
      if (answer !== undefined) this.#options.events?.onNamed(answer.by);
      return answer?.message;
    } catch (error) {
      // Facts that can't be worked out are told as problems of their objects; what they would say nobody is told instead.
      this.#options.log.warn({ error }, 'a question of a pod was not answered');
      return failureFor(query);
    }
  }

  /** The answer, once what it says of names in rules is in force; that there is none now, if that takes too long. */
  async #released(query: Buffer, answer: Buffer): Promise<Buffer> {
    const { names, events } = this.#options;
    const question = readQuestion(query);
    const rules = question === undefined ? [] : names.rulesAbout(question.name);
    if (rules.length === 0) return answer;
    const answered = readAnswered(answer);
    if (answered === undefined || answered.question.name !== question?.name)
      return failureFor(query);
    const { answers } = answered;
    const change = Math.max(...rules.map((rule) => names.told({ rule, answers })));
    if (names.installations.isInstalled(change)) return answer;
    const began = performance.now();
    const isInForce = await names.installations.installed(
      change,
      LONGEST_HOLD,
      this.#clock,
      this.#signal,
    );
    events?.onHeld(performance.now() - began, isInForce);
    return isInForce ? answer : failureFor(query);
  }

  async #isReached({ serviceWays }: DnsForwarding): Promise<boolean> {
    const answers = await Promise.all(
      serviceWays
        .filter(({ protocol }) => protocol === 'UDP')
        .map(({ endpoints }) => this.#relay.ask(PROBE, 'UDP', endpoints, this.#signal)),
    );
    return answers.every((answer) => answer !== undefined);
  }

  #closeAll(): void {
    for (const { close } of this.#open.values()) close();
    this.#open.clear();
  }
}
