// Shows what a limit that the reader sets with the slider would make of the sample.
const slider = document.querySelector("#slider")
const counts = JSON.parse(slider.dataset.counts)
const rows = Number(slider.dataset.rows)
const show = () => {
  const count = counts[slider.value - slider.min]
  document.querySelector("#slider-limit").textContent = (slider.value / 100).toFixed(2)
  document.querySelector("#slider-share").textContent = `${(100 * count / rows).toFixed(1)} %`
  document.querySelector("#slider-count").textContent = count.toLocaleString("en")
  document.querySelector("#slider-least").hidden = slider.value / 100 >= Number(slider.dataset.limit)
}
slider.addEventListener("input", show)
document.querySelector("#try").hidden = false
