/**
 * Tells a physical network where a virtual machine is that has moved to this node. What it announces itself before its port is open is dropped, and
 * ovn-controller announces it a second after that (docs/topology.md, "A virtual machine that moves").
 */
import type { Pod } from '../api/types.ts';
import type { Attachment } from '../model/model.ts';
import { podPort } from '../model/rules/names.ts';
import { machineOf } from '../model/rules/virtual-machines.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { announcementOf } from '../node/announcer/address-announcements.ts';
import type { Clock } from '../store/clock.ts';
import type { ObjectView } from '../store/informer.ts';
import type { Log } from '../store/log.ts';

/** Milliseconds from when its pod has the annotation that it has arrived, after which it is announced: sooner than OVN does, and as seldom as QEMU. What comes before its port is open in OVN is dropped. */
const MOMENTS = [50, 150, 300, 500, 800, 1200] as const;

export interface MachineArrivalsOptions {
  readonly facts: ZoneFacts;
  readonly pods: Pick<ObjectView<Pod>, 'onChange'>;
  /** Sends a frame, in hexadecimal, as if the interface of that logical switch port had. */
  readonly send: (logicalPort: string, frame: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** Announces machines that arrive in pods of this node from now on. */
export function announceArrivals(options: MachineArrivalsOptions): void {
  const { facts, pods, clock, signal } = options;
  /** Pods whose machine is being announced: one that says again and again that it has arrived is not announced more often. */
  const announced = new Set<string>();
  pods.onChange(({ key, before, after }) => {
    // Of one that had arrived before this daemon saw its pod OVN has told already.
    if (before === undefined || after === undefined || after.spec.nodeName !== facts.nodeName)
      return;
    if (machineOf(after)?.hasArrived !== true || machineOf(before)?.hasArrived !== false) return;
    if (announced.has(key)) return;
    announced.add(key);
    const { namespace = '', name } = after.metadata;
    for (const [index, moment] of MOMENTS.entries())
      clock.after(moment, () => {
        if (index === MOMENTS.length - 1) announced.delete(key);
        if (!signal.aborted) void announce(options, namespace, name);
      });
  });
}

async function announce(
  { facts, send, log }: MachineArrivalsOptions,
  namespace: string,
  pod: string,
): Promise<void> {
  try {
    for (const one of facts.attachments.by('pod', namespace, pod)) {
      if (!isToBeTold(facts, one)) continue;
      const port = podPort(one.nadKey, namespace, pod);
      for (const address of one.addresses)
        await send(port, announcementOf(address.replace(/\/.*/, ''), one.macAddress, 0));
    }
  } catch (error) {
    log.warn(
      { namespace, pod, error },
      'a virtual machine that moved here is not announced; OVN does so a second later',
    );
  }
}

/** Switches between nodes learn where it is; of the networks of OVN each node is told. */
const isToBeTold = (facts: ZoneFacts, attachment: Attachment): boolean =>
  facts.rendered.part(attachment.network, 'topology') === 'localnet' &&
  facts.isOpenWhileMoving(attachment) !== false;
