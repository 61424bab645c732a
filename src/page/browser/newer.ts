/** Of a page that is served: says that there is a newer one. One in a file asks nobody. */
import { byId, element } from './dom.ts';

const INTERVAL = 5000;

/** `time`: that of what is shown. Asks as long as somebody looks. */
export function followNewer(time: string): void {
  if (!location.protocol.startsWith('http')) return;
  let isShown = false;
  const look = async (): Promise<void> => {
    if (document.hidden || isShown) return;
    const answer = await fetch('time').catch(() => undefined);
    if (answer?.ok !== true) return;
    const newest = await answer.text();
    if (newest <= time) return;
    isShown = true;
    byId('shown').before(
      element(
        'button',
        { id: 'newer', onClick: () => location.reload() },
        `Show what changed by ${newest.slice(11, 16)} UTC`,
      ),
    );
  };
  setInterval(() => void look(), INTERVAL);
  document.addEventListener('visibilitychange', () => void look());
}
